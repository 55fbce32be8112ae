//! Carries the service into the archive, and never claims more than it carried.

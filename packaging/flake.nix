# From a clone: nix run './?dir=packaging'
{
  description = "Sent box of a team, in a terminal";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      package = pkgs: pkgs.rustPlatform.buildRustPackage {
        pname = "sentbox";
        version = "0.1.0";
        src = ./..;
        cargoLock.lockFile = ../Cargo.lock;
        nativeBuildInputs = [ pkgs.installShellFiles ];
        # They take a terminal and many minutes; .ci/run runs them.
        doCheck = false;
        postInstall = ''
          sh packaging/generate $out/bin/sentbox
          installManPage target/packaging/sentbox.1
          installShellCompletion --cmd sentbox --bash target/packaging/sentbox \
            --zsh target/packaging/_sentbox --fish target/packaging/sentbox.fish
        '';
        meta = {
          description = "Sent box of a team, in a terminal";
          license = with pkgs.lib.licenses; [ mit asl20 ];
          mainProgram = "sentbox";
        };
      };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system};
      });
    };
}

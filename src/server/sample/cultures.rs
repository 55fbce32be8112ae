//! The names that customers are made of: sixteen languages, each with as many given and family names.

/// How many given names, and how many family names, each culture has.
pub(super) const NAMES_PER_CULTURE: usize = 16;

/// Where a customer's name comes from.
#[derive(Debug)]
pub(super) struct Culture {
    /// Given names; what stands behind a bar is the spelling in addresses, if it is not the same.
    pub(super) given: [&'static str; NAMES_PER_CULTURE],
    /// Family names, likewise.
    pub(super) family: [&'static str; NAMES_PER_CULTURE],
    /// Whether the family name comes first, and whether a blank stands between.
    pub(super) order: NameOrder,
    /// Where such a customer lives.
    pub(super) cities: [&'static str; 3],
}

/// How a full name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameOrder {
    GivenFamily,
    FamilyGiven,
    /// Family name first, without a blank.
    FamilyGivenJoined,
}

/// The culture of letters written in German.
pub(super) const GERMAN_CULTURE: usize = 1;
/// The culture of letters written in Japanese.
pub(super) const JAPANESE_CULTURE: usize = 4;
/// The culture of letters written in Arabic.
pub(super) const ARABIC_CULTURE: usize = 7;

/// All cultures. Customers are spread over them evenly.
#[rustfmt::skip] // A name a line would be six hundred lines.
pub(super) static CULTURES: [Culture; 16] = [
    Culture {
        given: ["Amelia", "Oliver", "Isla", "Harry", "Poppy", "George", "Freya", "Arthur", "Imogen", "Callum", "Maisie", "Rhys", "Tamsin", "Alfie", "Bronwen", "Hamish"],
        family: ["Hartley", "Whitcombe", "Pembroke", "Ashdown", "Thistlewood", "Garside", "Holloway", "Lockwood", "Merriweather", "Fairbairn", "Penhaligon", "Sedgwick", "Tunstall", "Wren", "Oakeshott", "Kirkby"],
        order: NameOrder::GivenFamily,
        cities: ["Bristol", "Leeds", "Aberdeen"],
    },
    Culture {
        given: ["Jürgen|juergen", "Annika", "Matthias", "Käthe|kaethe", "Sören|soeren", "Liesel", "Torsten", "Ulrike", "Bernd", "Friederike", "Götz|goetz", "Heike", "Joachim", "Mareike", "Wiebke", "Lothar"],
        family: ["Weber", "Schäfer|schaefer", "Großmann|grossmann", "Vogelsang", "Lindenthal", "Krämer|kraemer", "Brückner|brueckner", "Hohenstein", "Dombrowski", "Feldkamp", "Zimmermann", "Oberhäuser|oberhaeuser", "Strauß|strauss", "Wiesental", "Nussbaum", "Kohlhaas"],
        order: NameOrder::GivenFamily,
        cities: ["Leipzig", "Freiburg", "Düsseldorf"],
    },
    Culture {
        given: ["Ana", "Íñigo|inigo", "Lucía|lucia", "Joaquín|joaquin", "Begoña|begona", "Mateo", "Ximena", "Álvaro|alvaro", "Rocío|rocio", "Nicolás|nicolas", "Pilar", "Rubén|ruben", "Maite", "Gonzalo", "Inés|ines", "Leandro"],
        family: ["López|lopez", "Ibáñez|ibanez", "Núñez|nunez", "Castellanos", "Quiroga", "Peñalver|penalver", "Arrieta", "Salazar", "Villanueva", "Montoya", "Zubizarreta", "Carrasco", "Escudero", "Fuentes", "Olmedo", "Rincón|rincon"],
        order: NameOrder::GivenFamily,
        cities: ["Zaragoza", "Bogotá", "Córdoba"],
    },
    Culture {
        given: ["Élodie|elodie", "Thibault", "Maëlys|maelys", "Gaël|gael", "Océane|oceane", "Rémi|remi", "Solène|solene", "Bastien", "Anaïs|anais", "Loïc|loic", "Capucine", "Étienne|etienne", "Margaux", "Yann", "Noémie|noemie", "Corentin"],
        family: ["Lefèvre|lefevre", "Desrosiers", "Beauchêne|beauchene", "Moreau", "Chauvet", "Delacour", "Gauthier", "Vasseur", "Renaudin", "Lacombe", "Charpentier", "d’Aubigny|daubigny", "Tessier", "Marchand", "Blanchard", "Périgord|perigord"],
        order: NameOrder::GivenFamily,
        cities: ["Lyon", "Nantes", "Liège"],
    },
    Culture {
        given: ["美咲|misaki", "健太|kenta", "陽菜|hina", "翔|sho", "さくら|sakura", "大輔|daisuke", "結衣|yui", "拓也|takuya", "葵|aoi", "直樹|naoki", "真由美|mayumi", "蓮|ren", "千尋|chihiro", "悠斗|yuto", "彩花|ayaka", "亮|ryo"],
        family: ["佐藤|sato", "高橋|takahashi", "渡辺|watanabe", "小林|kobayashi", "中村|nakamura", "松本|matsumoto", "井上|inoue", "清水|shimizu", "山崎|yamazaki", "池田|ikeda", "石川|ishikawa", "長谷川|hasegawa", "藤田|fujita", "西村|nishimura", "三浦|miura", "岡本|okamoto"],
        order: NameOrder::FamilyGiven,
        cities: ["横浜市", "札幌市", "福岡市"],
    },
    Culture {
        given: ["Madison", "Tyler", "Harper", "Dashiell", "Savannah", "Wyatt", "Delaney", "Brooks", "Marisol", "Jamal", "Kaya", "Trent", "Shanice", "Cody", "Winona", "Beau"],
        family: ["Calloway", "Whitfield", "Ramsey", "Delgado-Price", "Bishop", "Tallchief", "Kessler", "Monroe", "Fontaine", "Redbird", "Hutchins", "O’Dell|odell", "Prewitt", "Langston", "Yazzie", "Stokes"],
        order: NameOrder::GivenFamily,
        cities: ["Duluth", "Santa Fe", "Halifax"],
    },
    Culture {
        given: ["Lorenzo", "Ginevra", "Matteo", "Chiara", "Niccolò|niccolo", "Beatrice", "Tommaso", "Alessia", "Davide", "Fiorella", "Ettore", "Ludovica", "Pasquale", "Serena", "Raimondo", "Ornella"],
        family: ["Rossi", "Bellandi", "Castelnuovo", "De Santis|desantis", "Fabbri", "Galeotti", "Lombardini", "Marchetti", "Nardone", "Pellegrini", "Quaranta", "Ricciardi", "Sartori", "Tedesco", "Vannucci", "Zanetti"],
        order: NameOrder::GivenFamily,
        cities: ["Bologna", "Trieste", "Bari"],
    },
    Culture {
        given: ["ليلى|layla", "يوسف|yusuf", "مريم|maryam", "عمر|omar", "نور|nour", "خالد|khalid", "سلمى|salma", "طارق|tariq", "هدى|huda", "سامي|sami", "رنا|rana", "زياد|ziad", "دانا|dana", "فارس|faris", "أمل|amal", "كريم|karim"],
        family: ["الحداد|alhaddad", "منصور|mansour", "الخطيب|alkhatib", "النجار|alnajjar", "حمدان|hamdan", "الشامي|alshami", "القاسم|alqasim", "زيدان|zaydan", "العطار|alattar", "بركات|barakat", "الصباغ|alsabbagh", "درويش|darwish", "المصري|almasri", "عيسى|issa", "الفارسي|alfarsi", "شاهين|shahin"],
        order: NameOrder::GivenFamily,
        cities: ["عمّان", "الدار البيضاء", "مسقط"],
    },
    Culture {
        given: ["João|joao", "Conceição|conceicao", "Tiago", "Beatriz", "Luís|luis", "Inácia|inacia", "Caetano", "Mafalda", "Afonso", "Iracema", "Gonçalo|goncalo", "Thaís|thais", "Duarte", "Jussara", "Simão|simao", "Benedita"],
        family: ["Magalhães|magalhaes", "Figueiredo", "Sampaio", "Quintela", "Guimarães|guimaraes", "Abrantes", "Vasconcelos", "Noronha", "Teixeira", "Brandão|brandao", "Cordeiro", "Leitão|leitao", "Moreira", "Pacheco", "Simões|simoes", "Valadares"],
        order: NameOrder::GivenFamily,
        cities: ["Porto", "Recife", "Coimbra"],
    },
    Culture {
        given: ["Åsa|asa", "Bjørn|bjorn", "Linnéa|linnea", "Søren|soren", "Ingrid", "Håkon|hakon", "Maja", "Eino", "Sigrún|sigrun", "Lasse", "Tuuli", "Øystein|oystein", "Freja", "Gunnar", "Ebba", "Ragnhild"],
        family: ["Lindqvist", "Sørensen|sorensen", "Åkesson|akesson", "Nygård|nygard", "Virtanen", "Bergström|bergstrom", "Halvorsen", "Koskinen", "Þórsdóttir|thorsdottir", "Dahlgren", "Kjær|kjaer", "Rautio", "Strömberg|stromberg", "Vestergaard", "Ødegård|odegard", "Mäkelä|makela"],
        order: NameOrder::GivenFamily,
        cities: ["Göteborg", "Tromsø", "Tampere"],
    },
    Culture {
        given: ["Ananya", "Arjun", "Kavya", "Rohan", "Meera", "Vikram", "Ishita", "Siddhesh", "Lakshmi", "Farhan", "Gauri", "Harpreet", "Devika", "Imran", "Nandini", "Sanjay"],
        family: ["Iyer", "Deshpande", "Chattoraj", "Kulkarni", "Kurup", "Bhattacharya", "Qureshi", "Palakurthi", "Sandhu", "Mukherjee", "Naidu", "Rao", "Shahane", "Trivedi", "Venkataraman", "Wadhwa"],
        order: NameOrder::GivenFamily,
        cities: ["Pune", "Kochi", "Leicester"],
    },
    Culture {
        given: ["민준|minjun", "서연|seoyeon", "지호|jiho", "하은|haeun", "도윤|doyun", "수아|sua", "예준|yejun", "지유|jiyu", "현우|hyunwoo", "은솔|eunsol", "승민|seungmin", "다인|dain", "태양|taeyang", "가람|garam", "성진|sungjin", "미나|mina"],
        family: ["김|kim", "박|park", "최|choi", "정|jung", "강|kang", "윤|yoon", "장|jang", "임|lim", "한|han", "오|oh", "서|seo", "신|shin", "권|kwon", "황|hwang", "안|ahn", "송|song"],
        order: NameOrder::FamilyGivenJoined,
        cities: ["부산", "대전", "인천"],
    },
    Culture {
        given: ["Zofia", "Łukasz|lukasz", "Małgorzata|malgorzata", "Wojciech", "Jadwiga", "Přemysl|premysl", "Bożena|bozena", "Krzysztof", "Žofie|zofie", "Stanisław|stanislaw", "Agnieszka", "Ondřej|ondrej", "Katarzyna", "Zdeněk|zdenek", "Dorota", "Tadeusz"],
        family: ["Wiśniewska|wisniewska", "Kowalczyk", "Novák|novak", "Dąbrowski|dabrowski", "Szymańska|szymanska", "Dvořák|dvorak", "Jabłoński|jablonski", "Krawczyk", "Procházka|prochazka", "Mazurkowski", "Żurawska|zurawska", "Čermák|cermak", "Pawlak", "Růžička|ruzicka", "Sikora", "Brzęczyszczykiewicz|brzeczyszczykiewicz"],
        order: NameOrder::GivenFamily,
        cities: ["Gdańsk", "Brno", "Kraków"],
    },
    Culture {
        given: ["Chinedu", "Ngozi", "Oluwaseun", "Adaeze", "Babatunde", "Folake", "Emeka", "Yetunde", "Kelechi", "Titilayo", "Obinna", "Amara", "Segun", "Ifeoma", "Tunde", "Zainab"],
        family: ["Okafor", "Adeyemi", "Nwosu", "Balogun", "Eze", "Olatunji", "Abubakar", "Chukwu", "Fadairo", "Igwe", "Akinwale", "Obiora", "Danjuma", "Ogunleye", "Uzoma", "Bello"],
        order: NameOrder::GivenFamily,
        cities: ["Lagos", "Ibadan", "Accra"],
    },
    Culture {
        given: ["Олена|olena", "Тарас|taras", "Соломія|solomiia", "Богдан|bohdan", "Ірина|iryna", "Назар|nazar", "Дарина|daryna", "Остап|ostap", "Марічка|marichka", "Юліан|yulian", "Оксана|oksana", "Любомир|liubomyr", "Зоряна|zoriana", "Левко|levko", "Надія|nadiia", "Святослав|sviatoslav"],
        family: ["Коваленко|kovalenko", "Шевчук|shevchuk", "Бондаренко|bondarenko", "Мельник|melnyk", "Ткаченко|tkachenko", "Кравчина|kravchyna", "Олійник|oliinyk", "Гончар|honchar", "Лисенко|lysenko", "Маринич|marynych", "Поліщук|polishchuk", "Савинець|savynets", "Рудник|rudnyk", "Федоренко|fedorenko", "Чорнобай|chornobai", "Яремчук|yaremchuk"],
        order: NameOrder::GivenFamily,
        cities: ["Львів", "Харків", "Одеса"],
    },
    Culture {
        given: ["晓明|xiaoming", "丽华|lihua", "志强|zhiqiang", "雨桐|yutong", "建国|jianguo", "思涵|sihan", "浩然|haoran", "静怡|jingyi", "子轩|zixuan", "欣妍|xinyan", "俊熙|junxi", "婷婷|tingting", "文博|wenbo", "佳慧|jiahui", "天宇|tianyu", "梦琪|mengqi"],
        family: ["王|wang", "李|li", "张|zhang", "陈|chen", "杨|yang", "赵|zhao", "黄|huang", "周|zhou", "吴|wu", "徐|xu", "孙|sun", "马|ma", "朱|zhu", "胡|hu", "郭|guo", "林|lin"],
        order: NameOrder::FamilyGivenJoined,
        cities: ["成都", "杭州", "台北"],
    },
];

//! The login pages as a browser gets them: what stands in them, what it may do with them, and what themes and languages change.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use durward_server::login_page::{Failure, LoginPages, NewPasswordRules, Page, PageError, Step};
use durward_server::{PagesSettings, Settings};
use http_body_util::BodyExt;
use hyper::HeaderMap;
use sha2::{Digest, Sha256};

use crate::support::{Directory, workspace};

/// A page as it came.
struct Shown {
    status: u16,
    headers: HeaderMap,
    html: String,
}

impl Shown {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What stands between the first `start` and the next `end`.
    #[track_caller]
    fn between(&self, start: &str, end: &str) -> &str {
        let rest = self.html.split_once(start).unwrap_or_else(|| panic!("no `{start}` in {}", self.html)).1;
        rest.split_once(end).unwrap().0
    }

    /// The values of an attribute, wherever it stands.
    fn values(&self, attribute: &str) -> Vec<&str> {
        let start = format!(" {attribute}=\"");
        self.html.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
    }
}

fn built_in() -> LoginPages {
    LoginPages::load(&PagesSettings::default()).unwrap()
}

fn show_in(pages: &LoginPages, page: &Page, language: &str) -> Shown {
    let (head, body) = pages.render(page, Some(language)).into_parts();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let bytes = runtime.block_on(body.collect()).unwrap().to_bytes();
    let html = String::from_utf8(bytes.to_vec()).unwrap();
    Shown { status: head.status.as_u16(), headers: head.headers, html }
}

fn show(page: &Page) -> Shown {
    show_in(&built_in(), page, "en")
}

fn with_theme(text: &str) -> Result<LoginPages, String> {
    let directory = Directory::new();
    directory.write("theme.toml", text);
    with_files(&directory)
}

fn with_files(directory: &Directory) -> Result<LoginPages, String> {
    let settings = PagesSettings { theme: Some(directory.path("theme.toml")), ..PagesSettings::default() };
    let place = format!("{}/", directory.path("").display().to_string().trim_end_matches('/'));
    LoginPages::load(&settings).map_err(|error| error.to_string().replace(&place, ""))
}

const RULES: NewPasswordRules = NewPasswordRules { length_min: 12, refuses_breached: true };

/// One page of each step, with an error where a form can have one.
fn all() -> Vec<Page> {
    let page = |step| Page {
        username: Some("anna".to_owned()),
        client: Some("Shop".to_owned()),
        ..Page::new("/oidc/login", "c5rf", step)
    };
    let wrong = |error, step| Page { error: Some(error), ..page(step) };
    let consent = || Step::Consent {
        client: "Shop".into(),
        scopes: vec!["openid".into(), "orders:read".into()],
        resources: vec!["https://orders.example/".into()],
    };
    let new_device = || Step::NewSecondStep {
        secret: "ABCD EFGH".into(),
        uri: "otpauth://totp/Shop:anna?secret=ABCDEFGH&issuer=Shop".into(),
    };
    vec![
        page(Step::Password),
        Page { username: None, client: None, ..page(Step::Password) },
        wrong(PageError::Password, Step::Password),
        wrong(PageError::TooMany { wait_s: 30 }, Step::Password),
        wrong(PageError::Expired, Step::Password),
        page(Step::SecondStep),
        wrong(PageError::Code, Step::SecondStep),
        wrong(PageError::Password, Step::SecondStep),
        page(Step::SecondStepOff),
        wrong(PageError::Password, Step::SecondStepOff),
        page(Step::SecondStepOn { codes_left: 7 }),
        wrong(PageError::Code, Step::SecondStepOn { codes_left: 7 }),
        page(new_device()),
        wrong(PageError::Code, new_device()),
        page(Step::RecoveryCodes { codes: vec!["ABCD-EFGH".into(), "JKLM-NOPQ".into()] }),
        page(Step::SecondStepRemoved),
        page(Step::NewPassword { rules: RULES }),
        wrong(PageError::TooShort { length_min: 12 }, Step::NewPassword { rules: RULES }),
        wrong(PageError::Breached, Step::NewPassword { rules: RULES }),
        wrong(PageError::Unchanged, Step::NewPassword { rules: RULES }),
        wrong(PageError::Differ, Step::NewPassword { rules: RULES }),
        page(consent()),
        wrong(PageError::Unavailable, consent()),
        page(Step::SignedOut { back: Some("https://shop.example/".into()) }),
        page(Step::Failed { what: Failure::Denied, reference: Some("r-1".into()) }),
    ]
}

#[test]
fn the_policy_lets_the_one_style_sheet_in_and_nothing_else() {
    let directory = Directory::new();
    directory.write("theme.toml", "radius = 4\ncss = 'more.css'\n[light]\naccent = '#123456'");
    directory.write("more.css", ".brand{text-align:start}\r\n.card{border:0}\r");
    for pages in [built_in(), with_files(&directory).unwrap()] {
        for page in all() {
            let shown = show_in(&pages, &page, "en");
            let style = shown.between("<style>", "</style>");
            assert!(!style.contains('\r'), "browsers hash what they read, in which line ends are `\\n`");
            let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));
            assert_eq!(
                shown.header("content-security-policy"),
                format!(
                    "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; form-action 'self'; \
                     frame-ancestors 'none'; base-uri 'none'"
                )
            );
            assert_eq!(shown.html.matches("<style").count(), 1);
            let refused = ["<script", " style=\"", " onclick", " src=\"http", "@import"];
            assert!(refused.iter().all(|it| !shown.html.contains(it)), "{}", shown.html);
        }
    }
}

#[test]
fn browsers_keep_nothing_tell_nobody_and_let_nobody_hold_the_window() {
    let shown = show(&Page::new("/login", "", Step::Password));
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("content-type", "text/html; charset=utf-8"),
        ("content-language", "en"),
        ("vary", "Accept-Language"),
    ] {
        assert_eq!(shown.header(name), value, "{name}");
    }
    let popups = LoginPages::load(&PagesSettings { popups: true, ..PagesSettings::default() }).unwrap();
    let shown = show_in(&popups, &Page::new("/login", "", Step::Password), "en");
    assert_eq!(shown.header("cross-origin-opener-policy"), "");
}

#[test]
fn a_form_may_lead_to_the_application_that_asked() {
    let uri = Some("https://shop.example:8443/callback?x=y".to_owned());
    let shown = show(&Page { redirect_uri: uri, ..Page::new("/login", "", Step::Password) });
    let policy = shown.header("content-security-policy");
    assert!(policy.contains("; form-action 'self' https://shop.example:8443; "), "{policy}");
    let uri = Some("https://x;script-src *".to_owned());
    let shown = show(&Page { redirect_uri: uri, ..Page::new("/login", "", Step::Password) });
    assert!(shown.header("content-security-policy").contains("; form-action 'self'; frame-ancestors"));
}

#[test]
fn whatever_is_put_into_a_page_stays_text() {
    let evil = "\"'><script>alert(1)</script>&amp;";
    let escaped = "&#34;&#39;&#62;&#60;script&#62;alert(1)&#60;/script&#62;&#38;amp;";
    for mut page in all() {
        let in_consent = matches!(page.step, Step::Consent { .. });
        if in_consent {
            page.step = Step::Consent {
                client: evil.to_owned(),
                scopes: vec![evil.to_owned()],
                resources: vec![evil.to_owned()],
            };
        }
        if matches!(page.step, Step::Failed { .. }) {
            page.step = Step::Failed { what: Failure::Denied, reference: Some(evil.to_owned()) };
        }
        let all = || Some(evil.to_owned());
        let page = Page { action: evil.into(), csrf: evil.into(), username: all(), client: all(), ..page };
        let shown = show(&page);
        assert!(!shown.html.contains("<script"), "{}", shown.html);
        if shown.html.contains("<form") {
            assert!(shown.html.contains(&format!("action=\"{escaped}\"")), "{}", shown.html);
            assert!(shown.html.contains(&format!("name=\"csrf\" value=\"{escaped}\"")), "{}", shown.html);
        }
        if in_consent {
            assert_eq!(shown.html.matches(escaped).count(), 6, "{}", shown.html);
        }
    }
}

#[test]
fn a_name_written_from_the_right_stands_apart_and_one_that_turns_the_text_is_made_harmless() {
    let consent = |client: &str| {
        Page::new("/", "", Step::Consent { client: client.into(), scopes: Vec::new(), resources: Vec::new() })
    };
    let shown = show(&consent("חנות"));
    assert!(shown.html.contains("<bdi>חנות</bdi> asks for access"), "{}", shown.html);
    let shown = show(&consent("\u{202e}knab\u{2069}"));
    assert!(shown.html.contains("<bdi>\u{fffd}knab\u{fffd}</bdi>"), "{}", shown.html);
    // What goes back to the server is what was typed.
    let name = Some("a\u{202e}b".to_owned());
    let shown = show(&Page { username: name, ..Page::new("/", "", Step::Password) });
    assert!(shown.html.contains("value=\"a\u{202e}b\""), "{}", shown.html);
}

#[test]
fn every_field_has_a_label_and_what_describes_it_is_there() {
    for language in ["en", "de"] {
        for page in all() {
            let shown = show_in(&built_in(), &page, language);
            assert!(
                shown.html.starts_with(&format!("<!doctype html>\n<html lang=\"{language}\" dir=\"ltr\">"))
            );
            assert_eq!(shown.html.matches("<h1>").count(), 1);
            let ids = shown.values("id");
            let unique: std::collections::BTreeSet<_> = ids.iter().collect();
            assert_eq!(unique.len(), ids.len(), "{ids:?}");
            for wanted in shown.values("aria-describedby").iter().flat_map(|ids| ids.split(' ')) {
                assert!(ids.contains(&wanted), "{wanted}: {}", shown.html);
            }
            for target in shown.values("href").iter().filter_map(|href| href.strip_prefix('#')) {
                assert!(ids.contains(&target), "{target}: {}", shown.html);
            }
            let inputs = shown.html.split("<input ").skip(1).map(|rest| rest.split('>').next().unwrap());
            for input in inputs.filter(|input| !input.contains("hidden")) {
                let id = input.split("id=\"").nth(1).unwrap().split('"').next().unwrap();
                assert!(shown.html.contains(&format!("<label for=\"{id}\">")), "{input}");
                assert!(input.contains("autocomplete=\""), "{input}");
            }
            assert!(shown.html.matches(" autofocus").count() <= 1);
            assert_eq!(shown.html.contains("role=\"alert\""), page.error.is_some(), "{}", shown.html);
            assert_eq!(shown.between("<title>", "<").contains(": "), page.error.is_some(), "{}", shown.html);
        }
    }
}

#[test]
fn each_step_sends_its_fields() {
    let fields = |step, username: Option<&str>| {
        let page =
            Page { username: username.map(str::to_owned), ..Page::new("/login?id=1&x=2", "c5rf", step) };
        let shown = show(&page);
        assert!(
            shown.html.contains("<form method=\"post\" action=\"/login?id=1&#38;x=2\">"),
            "{}",
            shown.html
        );
        assert!(shown.html.contains("<input type=\"hidden\" name=\"csrf\" value=\"c5rf\">"));
        let body = shown.html.split_once("<body>").unwrap().1;
        let tags = body.split('<').filter(|tag| tag.starts_with("input ") || tag.starts_with("button "));
        let of = |tag: &str, name: &str| {
            tag.split_once(&format!(" {name}=\"")).map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        };
        let named = tags.filter_map(|tag| {
            let said = of(tag, "autocomplete").or_else(|| of(tag, "value")).unwrap_or_default();
            Some(format!("{}:{said}", of(tag, "name")?))
        });
        named.skip(1).collect::<Vec<String>>()
    };
    assert_eq!(fields(Step::Password, None), ["username:username", "password:current-password"]);
    assert_eq!(fields(Step::SecondStep, Some("anna")), ["code:one-time-code"]);
    assert_eq!(
        fields(Step::NewPassword { rules: RULES }, Some("anna")),
        ["new_password:new-password", "new_password_again:new-password"]
    );
    let consent = Step::Consent { client: "Shop".into(), scopes: vec![], resources: vec![] };
    assert_eq!(fields(consent, None), ["consent:yes", "consent:no"]);
}

#[test]
fn the_focus_is_where_something_is_to_be_typed() {
    let focus = |page: &Page| {
        let shown = show(page);
        shown
            .html
            .split("<input ")
            .find(|input| input.contains(" autofocus"))
            .map(|input| input.split("id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
    };
    let known = |step| Page { username: Some("anna".into()), ..Page::new("/", "", step) };
    let of = |error, page| Page { error: Some(error), ..page };
    for (page, expected) in [
        (Page::new("/", "", Step::Password), Some("username")),
        (known(Step::Password), Some("password")),
        (of(PageError::Password, known(Step::Password)), Some("password")),
        (known(Step::SecondStep), Some("code")),
        (known(Step::NewPassword { rules: RULES }), Some("new_password")),
        (of(PageError::Differ, known(Step::NewPassword { rules: RULES })), Some("new_password_again")),
        // Enter must not grant what nobody has read.
        (known(Step::Consent { client: "Shop".into(), scopes: vec![], resources: vec![] }), None),
    ] {
        assert_eq!(focus(&page).as_deref(), expected);
    }
}

#[test]
fn statuses_tell_programs_what_pages_tell_people() {
    let failed = |what| show(&Page::of(Step::Failed { what, reference: None })).status;
    assert_eq!(failed(Failure::UnknownClient), 400);
    assert_eq!(failed(Failure::Denied), 403);
    assert_eq!(failed(Failure::NotFound), 404);
    assert_eq!(failed(Failure::Unavailable), 503);
    assert_eq!(failed(Failure::Internal), 500);
    let error = |error| show(&Page { error: Some(error), ..Page::new("/", "", Step::Password) });
    assert_eq!(error(PageError::Password).status, 200);
    assert_eq!(error(PageError::Unavailable).status, 503);
    let shown = error(PageError::TooMany { wait_s: 240 });
    assert_eq!((shown.status, shown.header("retry-after")), (429, "240"));
    assert!(shown.html.contains("Try again in <bdi>4 min</bdi>."), "{}", shown.html);
}

#[test]
fn a_button_leads_nowhere_but_to_addresses() {
    let back = |back: &str| {
        let shown = show(&Page::of(Step::SignedOut { back: Some(back.to_owned()) }));
        shown.html.contains("class=\"button\"")
    };
    for good in ["https://shop.example/", "http://127.0.0.1:3000", "/", "/home"] {
        assert!(back(good), "{good}");
    }
    for bad in
        ["javascript:alert(1)", "JavaScript:x", "data:text/html,x", "//evil.example", "/\\evil", "", "shop"]
    {
        assert!(!back(bad), "{bad}");
    }
}

#[test]
fn scopes_are_told_in_words_or_by_their_name() {
    let scopes = ["openid", "email", "orders:read"].map(str::to_owned).to_vec();
    let page = Page::new("/", "", Step::Consent { client: "Shop".into(), scopes, resources: vec![] });
    let shown = show(&page);
    assert!(shown.html.contains("<li>see your e-mail address</li>"), "{}", shown.html);
    assert!(shown.html.contains("<li>use the permission “<bdi>orders:read</bdi>”</li>"), "{}", shown.html);
    let shown = show_in(&built_in(), &page, "de");
    assert!(shown.html.contains("<li>Ihre E-Mail-Adresse sehen</li>"), "{}", shown.html);
}

#[test]
fn readers_get_the_language_they_like_best_and_english_otherwise() {
    let page = Page::new("/", "", Step::Password);
    for (wanted, language, heading) in [
        ("de-CH, fr;q=0.9", "de", "Anmelden"),
        ("de;q=0.5, en;q=0.7", "en", "Sign in"),
        ("ja", "en", "Sign in"),
        ("", "en", "Sign in"),
    ] {
        let shown = show_in(&built_in(), &page, wanted);
        assert_eq!(shown.header("content-language"), language, "{wanted}");
        assert!(shown.html.contains(&format!("<h1>{heading}</h1>")), "{wanted}");
    }
    assert_eq!(built_in().render(&page, None).headers()["content-language"], "en");
}

/// Pages with the languages of a directory.
fn with_languages(files: &[(&str, &str)]) -> Result<LoginPages, String> {
    let directory = Directory::new();
    for (name, text) in files {
        directory.write(&format!("languages/{name}"), text);
    }
    let languages = directory.path("languages");
    let place = format!("{}/", languages.display());
    let settings = PagesSettings { languages: Some(languages), ..PagesSettings::default() };
    LoginPages::load(&settings).map_err(|error| error.to_string().replace(&place, ""))
}

#[test]
fn a_language_is_added_by_a_file_and_what_it_lacks_is_english_and_said() {
    let hebrew =
        "direction = 'rtl'\npassword_heading = 'כניסה'\n[scopes]\nopenid = 'x'\n'orders:read' = 'y'\n";
    let pages = with_languages(&[("he.toml", hebrew), ("README.md", "no language")]).unwrap();
    let shown = show_in(&pages, &Page::new("/", "", Step::Password), "he-IL");
    assert!(shown.html.contains("<html lang=\"he\" dir=\"rtl\">"), "{}", shown.html);
    assert!(shown.html.contains("<h1>כניסה</h1>") && shown.html.contains("User name"), "{}", shown.html);
    // What is said in English is read as English: by screen readers, and from the left.
    assert!(
        shown.html.contains("<label for=\"username\"><span lang=\"en\" dir=\"ltr\">User name</span></label>")
    );
    let [warning] = &pages.warnings()[..] else { panic!("{:?}", pages.warnings()) };
    assert!(
        warning.contains("he.toml: these keys are missing, and said in `en`: title_error, "),
        "{warning}"
    );
    assert!(warning.contains("scopes.email") && !warning.contains("scopes.openid"), "{warning}");
    assert!(!warning.contains(" password_heading"), "{warning}");
}

#[test]
fn a_file_may_change_some_texts_of_a_language_that_is_built_in() {
    let files = [
        ("de.toml", "password_heading = 'Willkommen'"),
        ("de-CH.toml", "password_submit = 'Grüezi {product}'"),
    ];
    let pages = with_languages(&files).unwrap();
    assert_eq!(pages.warnings(), Vec::<String>::new());
    let shown = show_in(&pages, &Page::new("/", "", Step::Password), "de-CH");
    assert_eq!(shown.header("content-language"), "de-CH");
    assert!(
        shown.html.contains("<h1>Willkommen</h1>") && shown.html.contains("Benutzername"),
        "{}",
        shown.html
    );
    assert!(shown.html.contains("Grüezi <bdi>durward</bdi></button>"), "{}", shown.html);
}

#[test]
fn mistakes_in_languages_have_a_line() {
    for (name, text, expected) in [
        ("fr.toml", "pasword = 'x'", "fr.toml:1:1: unknown key `pasword`; did you mean `password`?"),
        (
            "fr.toml",
            "\npassword_lead = 'vers {clint}'",
            "fr.toml:2:17: `password_lead` has `{clint}`; there is `{client}` and `{product}` here",
        ),
        ("fr.toml", "consent_lead = 'vous ?'", "fr.toml:1:16: `consent_lead` does not say `{client}`"),
        ("fr.toml", "code = 7", "fr.toml:1:8: the number `7` stands where "),
        ("fr.toml", "direction = 'up'", "fr.toml:1:13: `up` is none of `ltr`, `rtl`"),
        ("fr.toml", "[scopes]\nemail = ''", "fr.toml:2:9: `scopes.email` is empty"),
        ("fr.toml", "code = ", "fr.toml:1:8: "),
        ("french_.toml", "", "french_.toml: `french_` is no name of a language, such as `fr` or `pt-BR`"),
    ] {
        let error = with_languages(&[(name, text)]).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn mistakes_in_themes_have_a_line() {
    for (text, expected) in [
        ("radios = 3", "theme.toml:1:1: unknown key `radios`; did you mean `radius`?"),
        ("\nradius = 99", "theme.toml:2:10: `radius` is 99; the most is 24, in pixels"),
        (
            "[light]\naccent = 'blue'",
            "theme.toml:2:10: `blue` is no colour; write `#` and three or six hexadecimal digits",
        ),
        ("[dark]\naccents = '#000'", "theme.toml:2:1: unknown key `accents`; did you mean `accent`?"),
        ("scheme = 'dusk'", "theme.toml:1:10: `dusk` is none of `both`, `light`, `dark`"),
        ("product = ' '", "theme.toml:1:11: `product` is empty"),
        ("logo = 'no.svg'", "theme.toml:1:8: no.svg: No such file"),
        ("\ncss = 'no.css'", "theme.toml:2:7: no.css: No such file"),
        ("[[links]]\ntext = 'x'", "theme.toml:1:1: the key `href` is missing here"),
        (
            "[[links]]\ntext = 'x'\nhref = 'javascript:x'",
            "theme.toml:1:1: `href` is `javascript:x`; a link begins",
        ),
        ("radius = ", "theme.toml:1:10: "),
    ] {
        let error = with_theme(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn files_of_a_theme_are_what_they_are_taken_for() {
    let directory = Directory::new();
    let wrong = |theme: &str| {
        directory.write("theme.toml", theme);
        with_files(&directory).unwrap_err()
    };
    directory.write("a.css", "p{}\n</STYLE><script>");
    assert_eq!(
        wrong("css = 'a.css'"),
        "theme.toml:1:7: a.css:2:1: `</style` would end the style sheet within the page"
    );
    directory.write("a.svg", "<html>");
    assert!(wrong("logo = 'a.svg'").contains("a.svg: is no picture of a kind that a logo can have"));
    directory.write("large.svg", &format!("<svg>{}</svg>", " ".repeat(70_000)));
    assert!(wrong("logo = 'large.svg'").contains("large.svg: is 70011 bytes long; the most is 65536"));
}

#[test]
fn colours_that_are_hard_to_read_are_warned_of() {
    let warnings = |theme: &str| with_theme(theme).unwrap().warnings();
    assert_eq!(warnings(""), Vec::<String>::new());
    let found = warnings("[light]\nsoft = '#999'\n[dark]\nborder = '#222'");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].ends_with(
        "theme.toml: `light.soft` on `light.card` has a contrast of 2.8:1; 4.5:1 is the least to be read by everybody (WCAG 2.2)"
    ));
    assert!(found[2].contains("`dark.border` on `dark.card`"), "{}", found[2]);
    // Colours that are never shown are not looked at.
    assert_eq!(warnings("scheme = 'light'\n[dark]\ntext = '#000'"), Vec::<String>::new());
    let directory = Directory::new();
    directory.write("theme.toml", "css = 'a.css'");
    directory.write("a.css", "p{background:url( \"data:image/png;base64,\")}");
    assert_eq!(with_files(&directory).unwrap().warnings(), Vec::<String>::new());
    directory.write("a.css", "p{background:url(https://x/y.png)}");
    assert!(with_files(&directory).unwrap().warnings()[0].contains("loads something"));
}

#[test]
fn a_theme_brings_logo_links_and_the_name_of_the_product() {
    let directory = Directory::new();
    directory.write("logo.svg", "<?xml version='1.0'?><svg xmlns='http://www.w3.org/2000/svg'/>");
    directory.write(
        "theme.toml",
        "product = 'Plant \"7\"'\nlogo = 'logo.svg'\nlogo_dark = 'logo.svg'\n\
         [[links]]\ntext = 'Imprint'\nhref = 'https://example.org/?a=1&b=2'\ntexts = { de = 'Impressum' }\n",
    );
    let pages = with_files(&directory).unwrap();
    let shown = show_in(&pages, &Page::new("/", "", Step::Password), "en");
    assert_eq!(shown.between("<title>", "</title>"), "Sign in – Plant &#34;7&#34;");
    assert_eq!(shown.html.matches("data:image/svg+xml;base64,PD94").count(), 2, "{}", shown.html);
    assert!(shown.html.contains("alt=\"Plant &#34;7&#34;\""), "{}", shown.html);
    assert!(
        shown.html.contains("<a href=\"https://example.org/?a=1&#38;b=2\">Imprint</a>"),
        "{}",
        shown.html
    );
    let shown = show_in(&pages, &Page::new("/", "", Step::Password), "de-AT");
    assert!(shown.html.contains(">Impressum</a>"), "{}", shown.html);
    let settings = PagesSettings {
        theme: Some(directory.path("theme.toml")),
        product: Some("Plant 8".to_owned()),
        ..PagesSettings::default()
    };
    let shown = show_in(&LoginPages::load(&settings).unwrap(), &Page::new("/", "", Step::Password), "en");
    assert_eq!(shown.between("<title>", "</title>"), "Sign in – Plant 8");
}

#[test]
fn the_preview_has_every_page_in_every_language_and_leads_to_each() {
    let files = built_in().preview();
    let index = &files[0];
    assert_eq!(index.name, "index.html");
    assert_eq!(files.len(), 1 + 2 * 33);
    for file in &files[1..] {
        assert!(index.html.contains(&format!("href=\"{}\"", file.name)), "{}", file.name);
        assert!(file.html.starts_with("<!doctype html>"), "{}", file.name);
    }
}

#[test]
fn the_examples_of_the_manual_are_read() {
    let manual = std::fs::read_to_string(workspace("docs/login-page.md")).unwrap();
    let examples: Vec<&str> =
        manual.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [settings, theme, language] = examples[..] else { panic!("{} examples", examples.len()) };
    let mut pages = Settings::from_toml(settings, "t").unwrap().identity.pages;
    let directory = Directory::new();
    directory.write("theme.toml", theme);
    directory.write("logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
    directory.write("languages/fr.toml", language);
    pages.theme = pages.theme.map(|path| directory.path(&path.display().to_string()));
    pages.languages = pages.languages.map(|path| directory.path(&path.display().to_string()));
    let warnings = LoginPages::load(&pages).unwrap().warnings();
    assert!(
        warnings.iter().all(|warning| warning.contains("fr.toml: these keys are missing")),
        "{warnings:?}"
    );
}

#[test]
fn the_manual_lists_every_key_of_a_theme() {
    let manual = std::fs::read_to_string(workspace("docs/login-page.md")).unwrap();
    for section in ["", "light.", "dark."] {
        // The program says which keys there are.
        let error = with_theme(&format!("{section}qqqqqqqq = 1")).unwrap_err();
        let keys = error.split_once("there are ").unwrap().1.split(", ");
        for key in keys {
            assert!(
                manual.lines().any(|row| row.starts_with("| `") && row.contains(&format!("`{key}`"))),
                "{key}"
            );
        }
    }
}

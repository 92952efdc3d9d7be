//! A language: its texts, out of a file.

use std::collections::BTreeMap;
use std::fmt;

use durward_settings::ConfigError;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::file::Source;
use super::text::{Hole, Text, TextError};

/// Where a line begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Direction {
    /// At the left.
    #[default]
    Ltr,
    /// At the right.
    Rtl,
}

impl Direction {
    /// The value of the attribute `dir`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Direction::Ltr => "ltr",
            Direction::Rtl => "rtl",
        }
    }
}

/// Declares the keys of a language's file, with what each text must have in it.
macro_rules! texts {
    ($($key:ident [$($hole:ident)*];)+) => {
        /// The texts of a language. `docs/login-page.md` says where each stands.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Texts {
            $(pub(super) $key: Text,)+
        }

        /// The keys of all texts.
        #[cfg(test)]
        pub(super) const KEYS: &[&str] = &[$(stringify!($key)),+];

        /// The names that a file may hold.
        const NAMES: &[&str] = &["direction", "scopes", $(stringify!($key)),+];

        impl Texts {
            fn read(file: &LanguageFile, base: &Texts, reader: &mut Reader<'_>) -> Result<Texts, ConfigError> {
                let mut texts = Texts::default();
                $(texts.$key = reader.text(stringify!($key), file, &base.$key, &[$(Hole::$hole),*])?;)+
                Ok(texts)
            }
        }
    };
}

texts! {
    title_error [Title];
    account [User];
    username [];
    password [];
    password_heading [];
    password_lead [Client];
    password_submit [];
    upstream_or [];
    upstream_submit [Provider];
    leave_heading [];
    leave_lead [Provider];
    leave_submit [];
    return_lead [];
    failed_upstream_unavailable [Provider];
    failed_upstream_refused [Provider];
    failed_upstream_unknown [Provider];
    failed_upstream_taken [Provider];
    code [];
    code_heading [];
    code_lead [];
    code_hint [];
    code_submit [];
    passkey_use [];
    passkey_failed [];
    passkey_no_script [];
    passkey_heading [];
    passkey_lead [];
    new_passkey_heading [];
    new_passkey_lead [];
    new_passkey_submit [];
    passkeys_heading [];
    passkeys_lead [];
    passkeys_name [];
    passkeys_name_hint [];
    passkeys_add [];
    passkeys_remove [Passkey];
    passkeys_changed_heading [];
    passkeys_changed_lead [];
    codes_heading [];
    codes_off_lead [];
    codes_off_submit [];
    codes_on_lead [Count];
    codes_on_submit [];
    codes_removed_heading [];
    codes_removed_lead [];
    new_codes_heading [];
    new_codes_lead [];
    new_codes_secret [];
    new_codes_open [];
    new_codes_submit [];
    recovery_heading [];
    recovery_lead [];
    new_password [];
    new_password_again [];
    new_password_heading [];
    new_password_lead [];
    new_password_length [Length];
    new_password_breached [];
    new_password_submit [];
    forgot_link [];
    forgot_heading [];
    forgot_lead [];
    forgot_submit [];
    link_sent_heading [];
    link_sent_lead [];
    reset_lead [];
    reset_submit [];
    password_changed_heading [];
    password_changed_lead [];
    consent_heading [];
    consent_lead [Client];
    consent_scopes [];
    consent_no_scopes [];
    consent_yes [];
    consent_no [];
    consent_resource [Resource];
    scope_other [Scope];
    sign_out_heading [];
    sign_out_lead [];
    sign_out_submit [];
    signed_out_heading [];
    signed_out_lead [];
    signed_out_back [];
    failed_heading [];
    failed_bad_request [];
    failed_unknown_client [];
    failed_bad_redirect [];
    failed_expired [];
    failed_link [];
    failed_cookies [];
    failed_not_signed_in [];
    failed_denied [];
    failed_not_found [];
    failed_unavailable [];
    failed_internal [];
    failed_reference [Reference];
    error_heading [];
    error_password [];
    error_code [];
    error_passkey [];
    error_passkey_name [];
    error_second_step [];
    error_too_many [Wait];
    error_too_short [Length];
    error_breached [];
    error_unchanged [];
    error_not_taken [];
    error_password_over [];
    error_differ [];
    error_expired [];
    error_full [];
    error_unavailable [];
    links [];
}

/// A language as far as a file says it. Its reader is written by hand: a derived one for so many fields takes the compiler seconds.
#[derive(Debug, Default)]
struct LanguageFile {
    direction: Option<Direction>,
    texts: BTreeMap<&'static str, Spanned<String>>,
    scopes: BTreeMap<String, Spanned<String>>,
}

/// A name that a file may hold.
struct Name(&'static str);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = NAMES.iter().find(|known| **known == name);
        known.map(|known| Name(known)).ok_or_else(|| D::Error::unknown_field(&name, NAMES))
    }
}

impl<'de> Deserialize<'de> for LanguageFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LanguageFile, D::Error> {
        deserializer.deserialize_map(LanguageVisitor)
    }
}

struct LanguageVisitor;

impl<'de> Visitor<'de> for LanguageVisitor {
    type Value = LanguageFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a language")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LanguageFile, A::Error> {
        let mut file = LanguageFile::default();
        while let Some(Name(name)) = map.next_key()? {
            match name {
                "direction" => file.direction = Some(map.next_value()?),
                "scopes" => file.scopes = map.next_value()?,
                _ => {
                    file.texts.insert(name, map.next_value()?);
                }
            }
        }
        Ok(file)
    }
}

/// Texts, and scopes in words.
#[derive(Clone, Debug)]
pub(super) struct Language {
    /// Its tag, such as `de` or `pt-BR`.
    pub(super) tag: String,
    pub(super) direction: Direction,
    pub(super) texts: Texts,
    pub(super) scopes: BTreeMap<String, Text>,
}

/// A language that was read, and the keys that its file lacks.
pub(super) struct Read {
    pub(super) language: Language,
    pub(super) missing: Vec<String>,
}

struct Reader<'s> {
    source: Source<'s>,
    /// What is said where the file says nothing, if that is another language: its tag and direction.
    other: Option<(&'s str, Direction)>,
    missing: Vec<String>,
}

impl Reader<'_> {
    fn text(
        &mut self,
        key: &str,
        file: &LanguageFile,
        base: &Text,
        holes: &[Hole],
    ) -> Result<Text, ConfigError> {
        let Some(said) = file.texts.get(key) else {
            self.missing.push(key.to_owned());
            return Ok(self.said_otherwise(base));
        };
        self.parse(key, said, holes)
    }

    fn parse(&self, key: &str, said: &Spanned<String>, holes: &[Hole]) -> Result<Text, ConfigError> {
        let wrong = |error: TextError| self.source.wrong_at(said.span().start, format!("`{key}` {error}"));
        Text::parse(said.get_ref(), holes).map_err(wrong)
    }

    fn said_otherwise(&self, base: &Text) -> Text {
        match self.other {
            Some((tag, direction)) => base.spoken_in(tag, direction.word()),
            None => base.clone(),
        }
    }
}

impl Language {
    /// Reads a file. What it lacks is as in another language.
    pub(super) fn read<'s>(
        tag: &str,
        source: Source<'s>,
        base: Option<&'s Language>,
    ) -> Result<Read, ConfigError> {
        let file: LanguageFile = source.read()?;
        let is_kin = |base: &&Language| primary(&base.tag).eq_ignore_ascii_case(primary(tag));
        let kin = base.filter(is_kin);
        let other = base.filter(|base| !is_kin(base)).map(|base| (base.tag.as_str(), base.direction));
        let mut reader = Reader { source, other, missing: Vec::new() };
        let nothing = Texts::default();
        let texts = Texts::read(&file, base.map_or(&nothing, |base| &base.texts), &mut reader)?;
        let mut scopes = BTreeMap::new();
        for (scope, said) in &file.scopes {
            let text = reader.parse(&format!("scopes.{scope}"), said, &[])?;
            scopes.insert(scope.clone(), text);
        }
        for (scope, text) in base.iter().flat_map(|base| &base.scopes) {
            if !scopes.contains_key(scope) {
                reader.missing.push(format!("scopes.{scope}"));
                scopes.insert(scope.clone(), reader.said_otherwise(text));
            }
        }
        let direction = file.direction.or(kin.map(|kin| kin.direction)).unwrap_or_default();
        Ok(Read {
            language: Language { tag: tag.to_owned(), direction, texts, scopes },
            missing: reader.missing,
        })
    }
}

/// The language itself, without region or script: `pt` of `pt-BR`.
pub(super) fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

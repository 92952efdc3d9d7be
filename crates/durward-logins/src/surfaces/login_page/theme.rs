//! A theme: what `identity.pages.theme` names, with the files that it names in turn. Files without effect on anything but looks: there is
//! no template in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use durward_settings::ConfigError;
use serde::Deserialize;
use toml::Spanned;

use super::colour::Colour;
use super::file::{self, Source};
use super::language::primary;
use super::logo::Logo;
use super::palette::{Palette, PaletteFile};

/// The longest theme file: hundreds of times what all its keys need.
const THEME_BYTES_MAX: u64 = 64 * 1024;
/// The longest style sheet of a theme: it goes into each page.
const STYLE_BYTES_MAX: u64 = 64 * 1024;
/// Most links below a page: one line on a wide screen, four on a narrow one.
const LINKS_MAX: usize = 8;
/// Most characters of the name of a product: two lines on a narrow screen.
const PRODUCT_LENGTH_MAX: usize = 80;
/// The roundest corners, in pixels: half of a field's height.
const RADIUS_PX_MAX: u32 = 24;

/// The light and the dark colours, or those alone that a theme is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Scheme {
    /// What the user's system prefers.
    #[default]
    Both,
    Light,
    Dark,
}

impl Scheme {
    /// The value of the property `color-scheme`.
    pub(super) fn css(self) -> &'static str {
        match self {
            Scheme::Both => "light dark",
            Scheme::Light => "light",
            Scheme::Dark => "dark",
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ThemeFile {
    product: Option<Spanned<String>>,
    logo: Option<Spanned<PathBuf>>,
    logo_dark: Option<Spanned<PathBuf>>,
    css: Option<Spanned<PathBuf>>,
    radius: Option<Spanned<u32>>,
    scheme: Scheme,
    light: PaletteFile,
    dark: PaletteFile,
    links: Vec<Spanned<LinkFile>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFile {
    text: String,
    href: String,
    #[serde(default)]
    texts: BTreeMap<String, String>,
}

/// A link below each page.
#[derive(Clone, Debug)]
pub(super) struct Link {
    text: String,
    pub(super) href: String,
    texts: BTreeMap<String, String>,
}

impl Link {
    /// Its text in a language: of that name, or of the language without the region.
    pub(super) fn text(&self, tag: &str) -> &str {
        let found = |wanted: &str| {
            self.texts.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, text)| text)
        };
        found(tag).or_else(|| found(primary(tag))).unwrap_or(&self.text)
    }
}

/// How the pages look.
#[derive(Clone, Debug)]
pub(super) struct Theme {
    pub(super) product: Option<String>,
    pub(super) logo: Option<Logo>,
    pub(super) logo_dark: Option<Logo>,
    /// The theme's own style sheet, which comes after durward's.
    pub(super) css: String,
    pub(super) radius_px: u32,
    pub(super) scheme: Scheme,
    pub(super) light: Palette,
    pub(super) dark: Palette,
    pub(super) links: Vec<Link>,
    /// What is allowed and not good.
    pub(super) warnings: Vec<String>,
}

impl Default for Theme {
    fn default() -> Theme {
        Theme {
            product: None,
            logo: None,
            logo_dark: None,
            css: String::new(),
            radius_px: 10,
            scheme: Scheme::Both,
            light: Palette::LIGHT,
            dark: Palette::DARK,
            links: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Theme {
    /// Reads a theme. Files that it names are looked for beside it.
    pub(super) fn read(path: &Path) -> Result<Theme, ConfigError> {
        let text = file::text(path, THEME_BYTES_MAX)?;
        let name = path.display().to_string();
        let source = Source { name: &name, text: &text };
        let said: ThemeFile = source.read()?;
        let beside = path.parent().unwrap_or(Path::new(""));
        let logo = |named: Option<Spanned<PathBuf>>| {
            let read = |named: Spanned<PathBuf>| at(&source, &named, |path| Logo::read(&beside.join(path)));
            named.map(read).transpose()
        };
        let mut theme = Theme {
            product: said.product.map(|product| product_of(&source, product)).transpose()?,
            logo: logo(said.logo)?,
            logo_dark: logo(said.logo_dark)?,
            css: match said.css {
                Some(named) => at(&source, &named, |path| style_sheet(&beside.join(path)))?,
                None => String::new(),
            },
            radius_px: said
                .radius
                .map_or(Ok(Theme::default().radius_px), |radius| radius_of(&source, &radius))?,
            scheme: said.scheme,
            light: said.light.over(&Palette::LIGHT),
            dark: said.dark.over(&Palette::DARK),
            links: links_of(&source, said.links)?,
            warnings: Vec::new(),
        };
        theme.warnings = theme.weaknesses(&name);
        Ok(theme)
    }

    /// Colours that are read with difficulty, and parts of the style sheet that browsers refuse.
    fn weaknesses(&self, name: &str) -> Vec<String> {
        let palettes: &[(&str, &Palette)] = match self.scheme {
            Scheme::Both => &[("light", &self.light), ("dark", &self.dark)],
            Scheme::Light => &[("light", &self.light)],
            Scheme::Dark => &[("dark", &self.dark)],
        };
        let mut weak: Vec<String> =
            palettes.iter().flat_map(|(scheme, palette)| palette.weaknesses(name, scheme)).collect();
        if loads(&self.css) {
            weak.push(format!(
                "{name}: the style sheet of `css` loads something; browsers refuse all but `url(data:...)`"
            ));
        }
        weak
    }
}

/// What a named file holds. Where it cannot be had, the place of its name is told first.
fn at<T>(
    source: &Source<'_>,
    named: &Spanned<PathBuf>,
    read: impl FnOnce(&Path) -> Result<T, ConfigError>,
) -> Result<T, ConfigError> {
    read(named.get_ref()).map_err(|error| source.wrong_at(named.span().start, error.to_string()))
}

fn product_of(source: &Source<'_>, product: Spanned<String>) -> Result<String, ConfigError> {
    match wrong_with_product(product.get_ref()) {
        Some(message) => Err(source.wrong_at(product.span().start, format!("`product` {message}"))),
        None => Ok(product.into_inner()),
    }
}

/// What a product cannot be called.
pub(super) fn wrong_with_product(product: &str) -> Option<String> {
    if product.trim().is_empty() {
        return Some("is empty".to_owned());
    }
    let is_long = product.chars().count() > PRODUCT_LENGTH_MAX;
    is_long.then(|| format!("is longer than {PRODUCT_LENGTH_MAX} characters"))
}

fn radius_of(source: &Source<'_>, radius: &Spanned<u32>) -> Result<u32, ConfigError> {
    match *radius.get_ref() {
        radius @ 0..=RADIUS_PX_MAX => Ok(radius),
        more => Err(source.wrong_at(
            radius.span().start,
            format!("`radius` is {more}; the most is {RADIUS_PX_MAX}, in pixels"),
        )),
    }
}

fn links_of(source: &Source<'_>, said: Vec<Spanned<LinkFile>>) -> Result<Vec<Link>, ConfigError> {
    let mut links = Vec::new();
    for link in said {
        let start = link.span().start;
        if links.len() == LINKS_MAX {
            return Err(source.wrong_at(start, format!("there are more than {LINKS_MAX} links")));
        }
        let LinkFile { text, href, texts } = link.into_inner();
        if !leads_somewhere(&href) {
            let message = format!(
                "`href` is `{href}`; a link begins with `https://`, `http://`, `mailto:`, or one `/` for this server"
            );
            return Err(source.wrong_at(start, message));
        }
        if text.trim().is_empty() {
            return Err(source.wrong_at(start, "`text` is empty".to_owned()));
        }
        links.push(Link { text, href, texts });
    }
    Ok(links)
}

/// Whether a link is of a kind that only leads somewhere: `javascript:` and `data:` are not.
pub(super) fn leads_somewhere(href: &str) -> bool {
    let is_local = href.starts_with('/') && !href.starts_with("//") && !href.starts_with("/\\");
    let begins = |with: &str| {
        href.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
            && href.len() > with.len()
    };
    is_local || begins("https://") || begins("http://") || begins("mailto:")
}

/// A style sheet, as it may stand within a page.
fn style_sheet(path: &Path) -> Result<String, ConfigError> {
    let text = file::text(path, STYLE_BYTES_MAX)?;
    let name = path.display().to_string();
    let source = Source { name: &name, text: &text };
    if let Some(offset) = text.to_ascii_lowercase().find("</style") {
        return Err(source.wrong_at(offset, "`</style` would end the style sheet within the page".to_owned()));
    }
    if let Some(offset) = text.find('\0') {
        return Err(source.wrong_at(offset, "a zero byte cannot stand in a page".to_owned()));
    }
    // Browsers read line ends of a page as `\n` before they hash what stands in `<style>`.
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// Whether a style sheet asks for anything that the pages' policy refuses.
fn loads(css: &str) -> bool {
    let css = css.to_ascii_lowercase();
    let is_data = |rest: &str| rest.trim_start_matches([' ', '"', '\'', '\t', '\n']).starts_with("data:");
    css.contains("@import") || css.split("url(").skip(1).any(|rest| !is_data(rest))
}

/// Colours of a palette as a style sheet's variables.
pub(super) fn variables(palette: &Palette) -> String {
    palette
        .named()
        .iter()
        .map(|(name, colour): &(&str, Colour)| format!("--{name}:{};", colour.css()))
        .collect()
}

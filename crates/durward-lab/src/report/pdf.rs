//! A report as PDF: the blocks laid out on A4 pages, each page an SVG of its own, which becomes vectors and text that can be searched.

use krilla::geom::Size;
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};

use super::document::{Block, Document, Table};
use super::html::CELL_MAX;
use crate::draw::{DrawError, escaped, raster, shortened, svg};

/// A4, in points.
const WIDTH: f64 = 595.0;
const HEIGHT: f64 = 842.0;
const MARGIN: f64 = 42.0;
const INNER: f64 = WIDTH - 2.0 * MARGIN;
const BOTTOM: f64 = HEIGHT - 50.0;
/// Of longer tables the rest stands in the data files.
const ROWS_MAX: usize = 400;
/// Of longer texts as well.
const CODE_LINES_MAX: usize = 400;

/// The bytes of the PDF.
///
/// # Errors
/// What the writer of PDF says.
pub(super) fn pdf(document: &Document) -> Result<Vec<u8>, DrawError> {
    let no_size = || DrawError::new("a page without a size");
    let mut layout = Layout::default();
    layout.paragraph(&shortened(&document.title, CELL_MAX), Style { size: 17.0, is_bold: true, ..PLAIN });
    document.blocks.iter().for_each(|block| layout.block(block));
    let pages = layout.pages();
    let mut file = krilla::Document::new();
    file.set_metadata(Metadata::new().title(printable(&document.title)).language("en".to_owned()));
    let size = Size::from_wh(WIDTH as f32, HEIGHT as f32).ok_or_else(no_size)?;
    for (number, content) in (1..).zip(&pages) {
        let tree = raster::tree(&page_svg(content, number, pages.len()))?;
        let settings = PageSettings::from_wh(size.width(), size.height()).ok_or_else(no_size)?;
        let mut page = file.start_page_with(settings);
        let mut surface = page.surface();
        surface.draw_svg(&tree, size, SvgSettings::default());
        surface.finish();
        page.finish();
    }
    file.finish().map_err(|error| DrawError::new(format!("{error:?}")))
}

fn printable(text: &str) -> String {
    shortened(text, CELL_MAX).chars().filter(|it| !it.is_control()).collect()
}

fn page_svg(content: &str, number: usize, count: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"DejaVu Sans\">\n{content}<text x=\"{}\" y=\"{}\" font-size=\"8\" text-anchor=\"end\" \
         fill=\"#5c5c5c\">{number} / {count}</text>\n</svg>\n",
        WIDTH - MARGIN,
        HEIGHT - 26.0
    )
}

#[derive(Clone, Copy)]
struct Style {
    size: f64,
    indent: f64,
    colour: &'static str,
    is_bold: bool,
    is_mono: bool,
}

const PLAIN: Style = Style { size: 9.5, indent: 0.0, colour: "#222222", is_bold: false, is_mono: false };

/// Fills pages from top to bottom.
#[derive(Default)]
struct Layout {
    full: Vec<String>,
    page: String,
    /// How far down the page is filled, below the margin.
    y: f64,
}

impl Layout {
    fn pages(mut self) -> Vec<String> {
        self.full.push(self.page);
        self.full
    }

    /// Begins a new page where there is not so much room left.
    fn room(&mut self, height: f64) {
        if MARGIN + self.y + height > BOTTOM && self.y > 0.0 {
            self.full.push(std::mem::take(&mut self.page));
            self.y = 0.0;
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => {
                self.y += 10.0;
                self.room(120.0);
                self.paragraph(&shortened(text, CELL_MAX), Style { size: 13.0, is_bold: true, ..PLAIN });
            }
            Block::Text(text) => self.paragraph(text, PLAIN),
            Block::Verdict(sentences) => {
                sentences
                    .iter()
                    .for_each(|text| self.paragraph(text, Style { size: 10.5, indent: 8.0, ..PLAIN }));
            }
            Block::Warning(text) => {
                self.paragraph(&format!("Note: {text}"), Style { indent: 8.0, colour: "#a34700", ..PLAIN });
            }
            Block::List(items) => {
                items
                    .iter()
                    .for_each(|text| self.paragraph(&format!("• {text}"), Style { indent: 8.0, ..PLAIN }));
            }
            Block::Table(table) => self.table(table),
            Block::Figure(figure) => {
                let scale = (INNER / figure.scene.width).min(0.9);
                let height = figure.scene.height * scale;
                self.room(height + 26.0);
                // A picture within a picture: its width and height are those of the place.
                let picture = svg(&figure.scene).replacen(
                    &format!("width=\"{:.0}\" height=\"{:.0}\"", figure.scene.width, figure.scene.height),
                    &format!(
                        "x=\"{MARGIN}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"",
                        MARGIN + self.y,
                        figure.scene.width * scale
                    ),
                    1,
                );
                self.page.push_str(&picture);
                self.y += height;
                self.paragraph(&figure.caption, Style { size: 8.0, colour: "#5c5c5c", ..PLAIN });
            }
            Block::Code(text) => self.code(text),
        }
    }

    fn code(&mut self, text: &str) {
        let style = Style { size: 7.5, indent: 6.0, is_mono: true, ..PLAIN };
        for line in text.lines().take(CODE_LINES_MAX) {
            for piece in wrapped(line, style, INNER - style.indent) {
                self.line(&piece, style);
            }
        }
        if text.lines().count() > CODE_LINES_MAX {
            self.line("… (the rest stands in the record)", style);
        }
        self.y += 5.0;
    }

    fn paragraph(&mut self, text: &str, style: Style) {
        for line in wrapped(text, style, INNER - style.indent) {
            self.line(&line, style);
        }
        self.y += style.size * 0.5;
    }

    fn line(&mut self, text: &str, style: Style) {
        let height = style.size * 1.38;
        self.room(height);
        self.y += height;
        self.write(text, MARGIN + style.indent, "start", style);
    }

    fn write(&mut self, text: &str, x: f64, anchor: &str, style: Style) {
        let weight = if style.is_bold { " font-weight=\"bold\"" } else { "" };
        let family =
            if style.is_mono { " font-family=\"DejaVu Sans Mono\" xml:space=\"preserve\"" } else { "" };
        let y = MARGIN + self.y - style.size * 0.3;
        self.page.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{anchor}\"{weight}{family}>{}</text>\n",
            style.size,
            style.colour,
            escaped(text)
        ));
    }

    fn table(&mut self, table: &Table) {
        let natural = widths(table, 7.5);
        let total: f64 = natural.iter().sum();
        // What is too wide is written smaller, down to where it can still be read, then cut.
        let scale = (INNER / total).min(1.0);
        let style = Style { size: (7.5 * scale).max(4.6), ..PLAIN };
        let widths: Vec<f64> = natural.iter().map(|width| width * scale).collect();
        self.y += 3.0;
        self.room(60.0);
        self.paragraph(&table.caption, Style { size: 8.0, colour: "#5c5c5c", ..PLAIN });
        self.row(table, &table.columns, &widths, Style { is_bold: true, ..style });
        for row in table.rows.iter().take(ROWS_MAX) {
            if MARGIN + self.y + style.size * 1.6 > BOTTOM {
                self.room(HEIGHT);
                self.row(table, &table.columns, &widths, Style { is_bold: true, ..style });
            }
            self.row(table, row, &widths, style);
        }
        if let Some(more) = table.rows.len().checked_sub(ROWS_MAX).filter(|more| *more > 0) {
            self.line(&format!("… and {more} rows more: see the data files"), style);
        }
        self.y += 8.0;
    }

    fn row(&mut self, table: &Table, cells: &[String], widths: &[f64], style: Style) {
        let height = style.size * 1.55;
        self.room(height);
        self.y += height;
        let mut x = MARGIN;
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = fitting(cell, style, width - 4.0);
            if at < table.words {
                self.write(&cell, x, "start", style);
            } else {
                self.write(&cell, x + width - 4.0, "end", style);
            }
            x += width;
        }
        let y = MARGIN + self.y + 1.2;
        self.page.push_str(&format!(
            "<line x1=\"{MARGIN}\" x2=\"{x:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#d8d8d8\" stroke-width=\"0.5\"/>\n"
        ));
    }
}

/// How wide the columns of a table are.
fn widths(table: &Table, size: f64) -> Vec<f64> {
    let bold = Style { size, is_bold: true, ..PLAIN };
    let plain = Style { size, ..PLAIN };
    let of = |(at, name): (usize, &String)| {
        let cells = table.rows.iter().take(ROWS_MAX).filter_map(|row| row.get(at));
        let widest = cells.map(|cell| width(&shortened(cell, 110), plain)).fold(width(name, bold), f64::max);
        widest.min(INNER * 0.75) + 8.0
    };
    table.columns.iter().enumerate().map(of).collect()
}

/// As much of a text as fits.
fn fitting(text: &str, style: Style, room: f64) -> String {
    let text = shortened(text, CELL_MAX);
    if width(&text, style) <= room {
        return text;
    }
    let mut kept = String::new();
    for character in text.chars() {
        if width(&kept, style) + style.size * 1.2 > room {
            break;
        }
        kept.push(character);
    }
    kept + "…"
}

/// Lines that fit; words that do not are broken.
fn wrapped(text: &str, style: Style, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0.0;
    for piece in text.split_inclusive([' ', '/', ',']) {
        let needed = width(piece.trim_end(), style);
        if used > 0.0 && used + needed > room {
            lines.push(String::new());
            used = 0.0;
        }
        if needed <= room {
            used += width(piece, style);
            lines.last_mut().into_iter().for_each(|line| line.push_str(piece));
            continue;
        }
        for character in piece.chars() {
            let wide = character_width(character, style);
            if used + wide > room {
                lines.push(String::new());
                used = 0.0;
            }
            used += wide;
            lines.last_mut().into_iter().for_each(|line| line.push(character));
        }
    }
    lines
}

fn width(text: &str, style: Style) -> f64 {
    text.chars().map(|character| character_width(character, style)).sum()
}

/// About how wide DejaVu Sans writes a character: exact enough to break lines.
fn character_width(character: char, style: Style) -> f64 {
    let part = match character {
        _ if style.is_mono => 0.603,
        ' ' | '.' | ',' | '/' | ':' | ';' | '\'' | '|' => 0.335,
        'i' | 'l' | 'j' | 'I' => 0.29,
        'f' | 't' | 'r' | '(' | ')' | '-' | '[' | ']' => 0.4,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.97,
        other if other.is_ascii_uppercase() => 0.71,
        other if other.is_ascii() => 0.62,
        _ => 1.0,
    };
    part * style.size * if style.is_bold { 1.12 } else { 1.0 }
}

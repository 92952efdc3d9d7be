//! A report as a page: HTML with everything in it, the data too, without a script that runs, for light and dark, wide and narrow screens, and paper.

use super::document::{Block, Document, Figure, Table};
use crate::draw::{self, escaped, shortened};

/// No name in a page is longer: the data files have them whole.
pub(super) const CELL_MAX: usize = 160;
/// Longer tables are folded; paper shows them all the same.
const ROWS_OPEN: usize = 40;

const STYLE: &str = ":root{color-scheme:light dark;--ink:#222;--faint:#5c5c5c;--paper:#fff;--line:#e2e2e2;--band:#f6f6f6;\
--warn:#d55e00;--good:#0072b2}\
@media screen and (prefers-color-scheme:dark){:root{--ink:#ececec;--faint:#b4b4b4;--paper:#16181a;--line:#3d3d3d;\
--band:#232629;--warn:#ff8c42;--good:#4aa8e8}}\
body{font:16px/1.5 system-ui,'DejaVu Sans',sans-serif;color:var(--ink);background:var(--paper);max-width:62rem;\
margin:2rem auto;padding:0 1rem}h1{margin-bottom:.2rem;overflow-wrap:anywhere}h2{margin-top:2.5rem;overflow-wrap:anywhere}\
p,li{overflow-wrap:anywhere}a{color:var(--good)}\
.verdict{border-left:4px solid var(--good);padding:.2rem .9rem;font-size:1.06rem}.verdict p{margin:.5rem 0}\
.warning{border-left:4px solid var(--warn);padding-left:.9rem}\
figure{margin:1rem 0}figcaption,caption{color:var(--faint);text-align:left;padding:.3rem 0}\
.wide{overflow-x:auto}svg{max-width:100%;min-width:34rem;height:auto}\
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
th{border-bottom:2px solid var(--faint);vertical-align:bottom}\
.words{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:5rem;max-width:28rem}\
td.words:first-child{min-width:11rem}\
pre{background:var(--band);padding:.6rem .8rem;overflow-x:auto;font-size:13px;white-space:pre-wrap;overflow-wrap:anywhere}\
summary{cursor:pointer;color:var(--faint)}\
@media print{body{max-width:none;margin:0;font-size:11pt}.wide{overflow:visible}svg{min-width:0}table{font-size:8pt}\
th,td{padding:.15rem .3rem}figure,tr,.verdict{break-inside:avoid}h2{break-after:avoid}\
details::details-content{content-visibility:visible;block-size:auto}summary{display:none}}";

/// The page.
pub fn html(document: &Document, links: Links) -> String {
    let title = escaped(&shortened(&document.title, CELL_MAX));
    let body: String = document.blocks.iter().map(|block| self::block(block, links)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}{}</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n{body}</main>\n{}</body>\n</html>\n",
        draw::STYLE,
        document.data.iter().map(|data| format!("{data}\n")).collect::<String>()
    )
}

/// Which files lie beside the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// None.
    #[default]
    Nothing,
    /// Pictures as SVG.
    Svg,
    /// Pictures as SVG and PNG.
    SvgAndPng,
}

fn block(block: &Block, links: Links) -> String {
    match block {
        Block::Heading(text) => format!("<h2>{}</h2>\n", escaped(&shortened(text, CELL_MAX))),
        Block::Text(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::Verdict(sentences) => {
            let sentences: String =
                sentences.iter().map(|text| format!("<p>{}</p>\n", escaped(text))).collect();
            format!("<div class=\"verdict\" role=\"region\" aria-label=\"Verdict\">\n{sentences}</div>\n")
        }
        Block::Warning(text) => {
            format!("<p class=\"warning\"><strong>Note:</strong> {}</p>\n", escaped(text))
        }
        Block::List(items) => {
            let items: String = items.iter().map(|text| format!("<li>{}</li>\n", escaped(text))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Table(table) => self::table(table),
        Block::Figure(figure) => self::figure(figure, links),
        Block::Code(text) => format!("<pre><code>{}</code></pre>\n", escaped(text)),
    }
}

fn figure(figure: &Figure, links: Links) -> String {
    let name = &figure.name;
    let files = match links {
        Links::Nothing => String::new(),
        Links::Svg => format!(" (<a href=\"{name}.svg\">SVG</a>)"),
        Links::SvgAndPng => format!(" (<a href=\"{name}.svg\">SVG</a>, <a href=\"{name}.png\">PNG</a>)"),
    };
    format!(
        "<figure>\n<div class=\"wide\">{}</div>\n<figcaption>{}{files}</figcaption>\n</figure>\n",
        draw::svg(&figure.scene),
        escaped(&figure.caption)
    )
}

fn table(table: &Table) -> String {
    let class = |at: usize| if at < table.words { " class=\"words\"" } else { "" };
    let head: String = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, name)| format!("<th scope=\"col\"{}>{}</th>", class(at), escaped(name)))
        .collect();
    let mut rows = String::new();
    for row in &table.rows {
        rows.push_str("<tr>");
        for (at, cell) in row.iter().enumerate() {
            rows.push_str(&format!("<td{}>{}</td>", class(at), escaped(&shortened(cell, CELL_MAX))));
        }
        rows.push_str("</tr>\n");
    }
    let caption = escaped(&table.caption);
    let text = format!(
        "<div class=\"wide\"><table>\n<caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n"
    );
    if table.rows.len() > ROWS_OPEN {
        format!("<details><summary>{caption}: {} rows</summary>\n{text}</details>\n", table.rows.len())
    } else {
        text
    }
}

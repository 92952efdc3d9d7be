//! stub
pub use durward_ir::evaluate::Everything;
#[derive(Clone, Copy, Debug, Default)] pub enum IndexKind { #[default] Auto }
#[derive(Clone, Debug, Default)] pub struct Settings;
#[derive(Debug)] pub enum Index { Scan(Everything), Bloom(Everything), Diagram(Everything) }
impl Index { pub fn build(_: IndexKind, _: &durward_ir::program::Program, _: &Settings) -> Index { Index::Scan(Everything) } pub fn describe(&self) -> String { "scan".into() } }

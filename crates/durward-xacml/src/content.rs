//! stub
use smol_str::SmolStr;
pub struct XPath;
impl XPath {
    pub fn compile(_: &str, _: &[(SmolStr, SmolStr)]) -> Result<XPath, String> {
        Ok(XPath)
    }
}

//! Requests answered from their texts: what policies compare is looked at in the text, and a request is made only where a policy, or
//! the answer, needs more.

use durward_xacml::request::{Limits, RawRequest, Request, RequestError, Version};
use durward_xacml::response::{Response, ResultOf};

use super::decision_of;
use crate::Pdp;
use durward_ir::question::Unencoded;

impl Pdp {
    /// Answers a request in XML, within these limits; the answer is to be written in its version. Faster than to read it and to ask.
    ///
    /// # Errors
    /// See [`Request::from_xml_within`].
    ///
    /// ```
    /// use durward_pdp::{Decision, Pdp, xacml::request::Limits};
    ///
    /// let policy = r#"<Policy xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" PolicyId="p" Version="1.0"
    ///   RuleCombiningAlgId="urn:oasis:names:tc:xacml:3.0:rule-combining-algorithm:deny-unless-permit">
    ///   <Target/><Rule RuleId="r" Effect="Permit"/></Policy>"#;
    /// let pdp = Pdp::builder().policy("p.xml", policy).build().map_err(|errors| errors[0].to_string())?;
    /// let text = br#"<Request xmlns="urn:oasis:names:tc:xacml:3.0:core:schema:wd-17" CombinedDecision="false"
    ///   ReturnPolicyIdList="false"><Attributes Category="c"/></Request>"#;
    /// let (response, version) = pdp.decide_xml(text, &Limits::default()).map_err(|error| error.to_string())?;
    /// assert!(response.to_xml(version).contains("<Decision>Permit</Decision>"));
    /// # Ok::<(), String>(())
    /// ```
    pub fn decide_xml(&self, text: &[u8], limits: &Limits) -> Result<(Response, Version), RequestError> {
        if let Some(Some(response)) = RawRequest::with_xml(text, limits, |raw| self.decide_whole_raw(raw)) {
            return Ok((response, Version::V3));
        }
        let request = Request::from_xml_within(text, limits)?;
        Ok((self.decide(&request), request.version))
    }

    /// The same of a request in JSON of XACML's profile.
    ///
    /// # Errors
    /// See [`Request::from_json_within`].
    #[cfg(feature = "json")]
    pub fn decide_request_json(&self, text: &[u8], limits: &Limits) -> Result<Response, RequestError> {
        if let Some(Some(response)) = RawRequest::with_json(text, limits, |raw| self.decide_whole_raw(raw)) {
            return Ok(response);
        }
        Ok(self.decide(&Request::from_json_within(text, limits)?))
    }

    #[inline]
    fn decide_whole_raw(&self, raw: &RawRequest<'_>) -> Option<Response> {
        match self.decide_raw_request(raw) {
            Some(response) => Some(response),
            None => raw.to_request().map(|request| self.decide(&request)),
        }
    }

    /// Answers a request that is still in its text; `None` where the answer needs a whole request.
    #[inline]
    pub fn decide_raw_request(&self, raw: &RawRequest<'_>) -> Option<Response> {
        let snapshot = self.snapshot.load();
        if !raw.asks_for_decision_only() || !self.has_table_decisions(&snapshot) {
            return None;
        }
        let seen = Unencoded::new(&snapshot.program.slots, raw.rows(), raw)?;
        let verdict = snapshot.verdict(&seen)?;
        Some(Response::of(ResultOf::new(decision_of(verdict))))
    }
}

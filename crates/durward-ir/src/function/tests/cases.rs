//! Cases by section of XACML 3.0, appendix A.3.

pub(super) const CASES: &str = r"
# A.3.1 equality
1.0:string-equal s'' s'' -> b'true'
1.0:string-equal s'a' s'A' -> b'false'
1.0:string-equal s'a' s'a ' -> b'false'
1.0:string-equal s'é' s'é' -> b'true'
3.0:string-equal-ignore-case s'ABC' s'abc' -> b'true'
3.0:string-equal-ignore-case s'ÀÉΣ' s'àéς' -> b'true'
3.0:string-equal-ignore-case s'abc' s'abd' -> b'false'
3.0:string-equal-ignore-case s'straße' s'STRASSE' -> b'false'
1.0:integer-equal i'123456789012345678901234567890' i'+0123456789012345678901234567890' -> b'true'
1.0:integer-equal i'9223372036854775808' i'-9223372036854775808' -> b'false'
1.0:double-equal d'NaN' d'NaN' -> b'true'
1.0:double-equal d'NaN' d'0' -> b'false'
1.0:double-equal d'-0' d'0' -> b'true'
1.0:double-equal d'INF' d'INF' -> b'true'
1.0:double-equal d'INF' d'-INF' -> b'false'
1.0:double-is-in d'NaN' [d'NaN'] -> b'true'
1.0:double-union [d'NaN' d'0'] [d'NaN' d'-0'] -> [d'NaN' d'0']
1.0:double-subset [d'NaN'] [d'NaN'] -> b'true'
1.0:time-equal t'08:00:00+09:00' t'17:00:00-06:00' -> b'false'
1.0:time-equal t'21:30:00+10:30' t'06:00:00-05:00' -> b'true'
1.0:time-equal t'24:00:00+01:00' t'00:00:00+01:00' -> b'true'
1.0:time-equal t'08:00:00' t'08:00:00Z' -> b'true'
1.0:date-equal date'2004-12-25Z' date'2004-12-25+07:00' -> b'false'
1.0:date-equal date'2004-12-25-12:00' date'2004-12-26+12:00' -> b'true'
1.0:dateTime-equal dt'2002-04-02T12:00:00-01:00' dt'2002-04-02T17:00:00+04:00' -> b'true'
1.0:dateTime-equal dt'2002-04-02T23:00:00-04:00' dt'2002-04-03T02:00:00-01:00' -> b'true'
1.0:dateTime-equal dt'2005-04-04T24:00:00' dt'2005-04-05T00:00:00' -> b'true'
1.0:dateTime-equal dt'1999-12-31T24:00:00' dt'2000-01-01T00:00:00' -> b'true'
1.0:dateTime-equal dt'2002-04-02T12:00:00.10' dt'2002-04-02T12:00:00.1' -> b'true'
1.0:dateTime-equal dt'2002-04-02T12:00:00.000000001' dt'2002-04-02T12:00:00' -> b'false'
3.0:dayTimeDuration-equal days'PT60.50S' days'PT1M0.5S' -> b'true'
3.0:dayTimeDuration-equal days'PT0S' days'-P0D' -> b'true'
3.0:yearMonthDuration-equal months'P0Y' months'-P0M' -> b'true'
1.0:x500Name-equal x500'cn=A+ou=B,c=US' x500'OU=b + CN=a, C=us' -> b'true'
1.0:x500Name-equal x500'c=US,cn=A' x500'cn=A,c=US' -> b'false'
1.0:x500Name-equal x500'2.5.4.3=A' x500'cn=A' -> b'true'
1.0:x500Name-equal x500'cn=A\, B' x500'cn=\41\2C B' -> b'true'
1.0:rfc822Name-equal mail'Ann@example.com' mail'ann@example.com' -> b'false'
1.0:hexBinary-equal hex'' hex'' -> b'true'
1.0:base64Binary-equal base64'' base64'' -> b'true'

# A.3.2 arithmetic
1.0:integer-add i'1' i'2' -> i'3'
1.0:integer-add i'1' i'2' i'3' i'-10' -> i'-4'
1.0:integer-add i'9223372036854775807' i'1' -> i'9223372036854775808'
1.0:integer-add i'9223372036854775808' i'-1' -> i'9223372036854775807'
1.0:integer-add i'-9223372036854775808' i'-1' -> i'-9223372036854775809'
1.0:double-add d'1.5' d'2.25' -> d'3.75'
1.0:double-add d'1' d'2' d'3' -> d'6'
1.0:double-add d'-0' d'-0' -> d'-0'
1.0:double-add d'INF' d'-INF' -> d'NaN'
1.0:double-add d'1e308' d'1e308' -> d'INF'
1.0:integer-subtract i'1' i'2' -> i'-1'
1.0:integer-subtract i'-9223372036854775808' i'1' -> i'-9223372036854775809'
1.0:double-subtract d'1.5' d'2' -> d'-0.5'
1.0:integer-multiply i'4' i'5' -> i'20'
1.0:integer-multiply i'2' i'3' i'-4' -> i'-24'
1.0:integer-multiply i'9223372036854775807' i'2' -> i'18446744073709551614'
1.0:integer-multiply i'9223372036854775807' i'2' i'0' -> i'0'
1.0:double-multiply d'1.5' d'2' d'2' -> d'6'
1.0:double-multiply d'INF' d'0' -> d'NaN'
1.0:integer-divide i'7' i'2' -> i'3'
1.0:integer-divide i'-7' i'2' -> i'-3'
1.0:integer-divide i'7' i'-2' -> i'-3'
1.0:integer-divide i'-9223372036854775808' i'-1' -> i'9223372036854775808'
1.0:integer-divide i'123456789012345678901234567890' i'10' -> i'12345678901234567890123456789'
1.0:integer-divide i'1' i'0' -> processing-error
1.0:integer-divide i'0' i'0' -> processing-error
1.0:double-divide d'7' d'2' -> d'3.5'
1.0:double-divide d'1' d'0' -> processing-error
1.0:double-divide d'1' d'-0' -> processing-error
1.0:double-divide d'1' d'INF' -> d'0'
1.0:double-divide d'1' d'NaN' -> d'NaN'
1.0:integer-mod i'7' i'2' -> i'1'
1.0:integer-mod i'-7' i'2' -> i'-1'
1.0:integer-mod i'7' i'-2' -> i'1'
1.0:integer-mod i'-9223372036854775808' i'-1' -> i'0'
1.0:integer-mod i'123456789012345678901234567890' i'7' -> i'0'
1.0:integer-mod i'7' i'0' -> processing-error
1.0:integer-abs i'-5' -> i'5'
1.0:integer-abs i'-9223372036854775808' -> i'9223372036854775808'
1.0:integer-abs i'-123456789012345678901234567890' -> i'123456789012345678901234567890'
1.0:double-abs d'-5.25' -> d'5.25'
1.0:double-abs d'-0' -> d'0'
1.0:double-abs d'-INF' -> d'INF'
1.0:round d'5.25' -> d'5'
1.0:round d'-5.75' -> d'-6'
1.0:round d'5.5' -> d'6'
1.0:round d'2.5' -> d'2'
1.0:round d'-2.5' -> d'-2'
1.0:round d'-0.2' -> d'-0'
1.0:round d'NaN' -> d'NaN'
1.0:round d'INF' -> d'INF'
1.0:floor d'5.75' -> d'5'
1.0:floor d'-5.25' -> d'-6'
1.0:floor d'-INF' -> d'-INF'

# A.3.3 text normalisation
1.0:string-normalize-space s'  a  b	' -> s'a  b'
1.0:string-normalize-space s'   ' -> s''
1.0:string-normalize-to-lower-case s'ÀbC1' -> s'àbc1'
1.0:string-normalize-to-lower-case s'abc' -> s'abc'
1.0:string-normalize-to-lower-case s'ΑΣ' -> s'ας'

# A.3.4 numeric conversion
1.0:double-to-integer d'5.9' -> i'5'
1.0:double-to-integer d'-5.9' -> i'-5'
1.0:double-to-integer d'-0.5' -> i'0'
1.0:double-to-integer d'1e20' -> i'100000000000000000000'
1.0:double-to-integer d'NaN' -> processing-error
1.0:double-to-integer d'INF' -> processing-error
1.0:integer-to-double i'5' -> d'5'
1.0:integer-to-double i'9007199254740993' -> d'9007199254740992'
1.0:integer-to-double i'100000000000000000000' -> d'1e20'
1.0:integer-to-double i'1000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000' -> processing-error

# A.3.5 logic
1.0:not b'true' -> b'false'
1.0:not b'false' -> b'true'

# A.3.6 and A.3.8 ordering
1.0:integer-greater-than i'2' i'1' -> b'true'
1.0:integer-greater-than i'1' i'1' -> b'false'
1.0:integer-greater-than-or-equal i'1' i'1' -> b'true'
1.0:integer-less-than i'-123456789012345678901' i'-9223372036854775808' -> b'true'
1.0:integer-less-than i'9223372036854775807' i'123456789012345678901' -> b'true'
1.0:integer-less-than-or-equal i'123456789012345678901' i'123456789012345678901' -> b'true'
1.0:integer-greater-than i'123456789012345678901' i'123456789012345678900' -> b'true'
1.0:double-greater-than d'INF' d'1e308' -> b'true'
1.0:double-greater-than d'NaN' d'1' -> b'false'
1.0:double-greater-than-or-equal d'NaN' d'NaN' -> b'false'
1.0:double-greater-than-or-equal d'0' d'-0' -> b'true'
1.0:double-less-than d'NaN' d'1' -> b'false'
1.0:double-less-than d'1' d'1.5' -> b'true'
1.0:double-less-than-or-equal d'1' d'NaN' -> b'false'
1.0:double-less-than-or-equal d'1' d'1' -> b'true'
1.0:string-greater-than s'b' s'abc' -> b'true'
1.0:string-greater-than s'a' s'B' -> b'true'
1.0:string-greater-than s'ab' s'a' -> b'true'
1.0:string-greater-than s'😀' s'￿' -> b'true'
1.0:string-greater-than-or-equal s'a' s'a' -> b'true'
1.0:string-less-than s'' s'a' -> b'true'
1.0:string-less-than-or-equal s'b' s'a' -> b'false'
1.0:time-greater-than t'12:00:00' t'11:59:59.999999999' -> b'true'
1.0:time-greater-than t'12:00:00-05:00' t'12:00:00' -> b'true'
1.0:time-greater-than-or-equal t'12:00:00Z' t'12:00:00' -> b'true'
1.0:time-less-than t'00:00:00' t'23:00:00' -> b'true'
1.0:time-less-than t'24:00:00' t'23:00:00' -> b'true'
1.0:time-less-than-or-equal t'08:23:48-05:00' t'08:23:47-05:00' -> b'false'
1.0:date-greater-than date'2024-03-01' date'2024-02-29' -> b'true'
1.0:date-greater-than date'0001-01-01' date'-0001-12-31' -> b'true'
1.0:date-greater-than-or-equal date'2024-01-01+01:00' date'2024-01-01' -> b'false'
1.0:date-less-than date'2024-01-01+01:00' date'2024-01-01' -> b'true'
1.0:date-less-than-or-equal date'2024-01-01' date'2024-01-01Z' -> b'true'
1.0:dateTime-greater-than dt'2024-01-01T00:00:00.1' dt'2024-01-01T00:00:00' -> b'true'
1.0:dateTime-greater-than-or-equal dt'2024-01-01T00:00:00' dt'2024-01-01T00:00:00Z' -> b'true'
1.0:dateTime-less-than dt'2024-01-01T00:00:00+02:00' dt'2023-12-31T22:30:00Z' -> b'true'
1.0:dateTime-less-than-or-equal dt'12024-01-01T00:00:00' dt'9999-12-31T00:00:00' -> b'false'
2.0:time-in-range t'12:00:00' t'09:00:00' t'17:00:00' -> b'true'
2.0:time-in-range t'09:00:00' t'09:00:00' t'17:00:00' -> b'true'
2.0:time-in-range t'17:00:00' t'09:00:00' t'17:00:00' -> b'true'
2.0:time-in-range t'17:00:00.000000001' t'09:00:00' t'17:00:00' -> b'false'
2.0:time-in-range t'08:59:59' t'09:00:00' t'17:00:00' -> b'false'
# past midnight
2.0:time-in-range t'23:00:00' t'22:00:00' t'06:00:00' -> b'true'
2.0:time-in-range t'05:00:00' t'22:00:00' t'06:00:00' -> b'true'
2.0:time-in-range t'12:00:00' t'22:00:00' t'06:00:00' -> b'false'
2.0:time-in-range t'00:00:00' t'22:00:00' t'24:00:00' -> b'true'
# one moment
2.0:time-in-range t'09:00:00' t'09:00:00' t'09:00:00' -> b'true'
2.0:time-in-range t'09:00:01' t'09:00:00' t'09:00:00' -> b'false'
# bounds without a zone take the first argument's
2.0:time-in-range t'12:00:00-08:00' t'09:00:00' t'17:00:00' -> b'true'
2.0:time-in-range t'12:00:00-08:00' t'09:00:00Z' t'17:00:00Z' -> b'false'
2.0:time-in-range t'20:00:00-08:00' t'03:00:00Z' t'05:00:00Z' -> b'true'
2.0:time-in-range t'12:00:00' t'13:00:00+01:00' t'12:30:00' -> b'true'

# A.3.7 dates and durations: XML Schema part 2, appendix E
3.0:dateTime-add-dayTimeDuration dt'2000-10-30T11:12:00' days'P3DT1H15M' -> dt'2000-11-02T12:27:00'
3.0:dateTime-add-dayTimeDuration dt'2000-01-12T12:13:14Z' days'P5DT7H10M3.3S' -> dt'2000-01-17T19:23:17.3Z'
3.0:dateTime-add-dayTimeDuration dt'2024-02-28T23:59:59.5+02:00' days'PT0.5S' -> dt'2024-02-29T00:00:00+02:00'
3.0:dateTime-add-dayTimeDuration dt'2024-03-01T00:00:00' days'-PT0.000000001S' -> dt'2024-02-29T23:59:59.999999999'
3.0:dateTime-add-dayTimeDuration dt'-0001-12-31T23:00:00Z' days'PT1H' -> dt'0001-01-01T00:00:00Z'
3.0:dateTime-add-dayTimeDuration dt'999999999-12-31T23:59:59' days'PT1S' -> processing-error
3.0:dateTime-add-dayTimeDuration dt'2024-01-01T00:00:00' days'PT9223372036854775807S' -> processing-error
3.0:dateTime-subtract-dayTimeDuration dt'2000-10-30T11:12:00' days'P3DT1H15M' -> dt'2000-10-27T09:57:00'
3.0:dateTime-subtract-dayTimeDuration dt'2000-10-30T11:12:00' days'-P1D' -> dt'2000-10-31T11:12:00'
3.0:dateTime-add-yearMonthDuration dt'2000-10-30T11:12:00' months'P1Y2M' -> dt'2001-12-30T11:12:00'
3.0:dateTime-add-yearMonthDuration dt'2000-01-31T10:00:00-05:00' months'P1M' -> dt'2000-02-29T10:00:00-05:00'
3.0:dateTime-add-yearMonthDuration dt'2001-01-31T10:00:00' months'P1M' -> dt'2001-02-28T10:00:00'
3.0:dateTime-add-yearMonthDuration dt'2000-02-29T10:00:00' months'-P1Y' -> dt'1999-02-28T10:00:00'
3.0:dateTime-add-yearMonthDuration dt'0001-01-15T10:00:00' months'-P1M' -> dt'-0001-12-15T10:00:00'
3.0:dateTime-add-yearMonthDuration dt'2000-01-31T10:00:00' months'P9223372036854775807M' -> processing-error
3.0:dateTime-subtract-yearMonthDuration dt'2000-10-30T11:12:00' months'P1Y2M' -> dt'1999-08-30T11:12:00'
3.0:dateTime-subtract-yearMonthDuration dt'2000-03-31T11:12:00' months'P1M' -> dt'2000-02-29T11:12:00'
3.0:dateTime-subtract-yearMonthDuration dt'2000-03-31T11:12:00' months'-P1M' -> dt'2000-04-30T11:12:00'
3.0:date-add-yearMonthDuration date'2000-10-30' months'P1Y4M' -> date'2002-02-28'
3.0:date-add-yearMonthDuration date'2000-01-31+02:00' months'P1M' -> date'2000-02-29+02:00'
3.0:date-subtract-yearMonthDuration date'2000-02-29Z' months'P1Y' -> date'1999-02-28Z'
3.0:date-subtract-yearMonthDuration date'2000-02-29Z' months'-P48M' -> date'2004-02-29Z'
3.0:date-subtract-yearMonthDuration date'0001-01-01' months'P999999999Y' -> date'-999999999-01-01'
3.0:date-subtract-yearMonthDuration date'0001-01-01' months'P1000000000Y' -> processing-error
1.0:dateTime-add-dayTimeDuration dt'2000-10-30T11:12:00' days'P1D' -> dt'2000-10-31T11:12:00'
1.0:dateTime-subtract-dayTimeDuration dt'2000-10-30T11:12:00' days'P1D' -> dt'2000-10-29T11:12:00'
1.0:dateTime-add-yearMonthDuration dt'2000-10-30T11:12:00' months'P1M' -> dt'2000-11-30T11:12:00'
1.0:dateTime-subtract-yearMonthDuration dt'2000-10-30T11:12:00' months'P1M' -> dt'2000-09-30T11:12:00'
1.0:date-add-yearMonthDuration date'2000-10-30' months'P1M' -> date'2000-11-30'
1.0:date-subtract-yearMonthDuration date'2000-10-30' months'P1M' -> date'2000-09-30'

# A.3.9 texts
2.0:string-concatenate s'a' s'b' -> s'ab'
2.0:string-concatenate s'foo' s'' s'bar' s' ' -> s'foobar '
2.0:uri-string-concatenate u'http://example.com' s'/a' s'/b' -> u'http://example.com/a/b'
2.0:uri-string-concatenate u'http://example.com' s'/%' s'4' -> processing-error
2.0:uri-string-concatenate u'http://example.com#a' s'#b' -> processing-error
2.0:string-concatenate s'e' s'́' -> s'é'
3.0:string-contains s'e' s'é' -> b'false'
3.0:boolean-from-string s' true ' -> b'true'
3.0:boolean-from-string s'0' -> b'false'
3.0:boolean-from-string s'yes' -> syntax-error
3.0:boolean-from-string s'True' -> syntax-error
3.0:boolean-from-string s'' -> syntax-error
3.0:string-from-boolean b'1' -> s'true'
3.0:string-from-boolean b'0' -> s'false'
3.0:integer-from-string s' +007 ' -> i'7'
3.0:integer-from-string s'1.0' -> syntax-error
3.0:integer-from-string s'1e3' -> syntax-error
3.0:integer-from-string s'' -> syntax-error
3.0:string-from-integer i'-007' -> s'-7'
3.0:string-from-integer i'-0' -> s'0'
3.0:string-from-integer i'+100000000000000000000' -> s'100000000000000000000'
3.0:double-from-string s' 1e3 ' -> d'1000'
3.0:double-from-string s'Infinity' -> syntax-error
3.0:string-from-double d'5.2' -> s'5.2E0'
3.0:string-from-double d'100' -> s'1.0E2'
3.0:string-from-double d'-0.001' -> s'-1.0E-3'
3.0:string-from-double d'0' -> s'0.0E0'
3.0:string-from-double d'-INF' -> s'-INF'
3.0:string-from-double d'NaN' -> s'NaN'
3.0:time-from-string s'09:30:15' -> t'09:30:15'
3.0:time-from-string s'9:30:15' -> syntax-error
3.0:string-from-time t'09:30:15.500' -> s'09:30:15.5'
3.0:string-from-time t'24:00:00' -> s'00:00:00'
3.0:string-from-time t'01:00:00+05:00' -> s'20:00:00Z'
3.0:date-from-string s'2002-09-24' -> date'2002-09-24'
3.0:date-from-string s'2002-02-29' -> syntax-error
3.0:string-from-date date'2002-09-24' -> s'2002-09-24'
3.0:string-from-date date'2002-10-10+13:00' -> s'2002-10-09-11:00'
3.0:string-from-date date'2002-10-10+12:00' -> s'2002-10-10+12:00'
3.0:string-from-date date'2002-10-10-12:00' -> s'2002-10-11+12:00'
3.0:string-from-date date'2002-10-10-11:59' -> s'2002-10-10-11:59'
3.0:string-from-date date'2002-10-10+00:00' -> s'2002-10-10Z'
3.0:dateTime-from-string s'2002-09-24T09:30:15' -> dt'2002-09-24T09:30:15'
3.0:dateTime-from-string s'2002-09-24 09:30:15' -> syntax-error
3.0:string-from-dateTime dt'2002-09-24T09:30:15' -> s'2002-09-24T09:30:15'
3.0:string-from-dateTime dt'2002-09-24T24:00:00-05:00' -> s'2002-09-25T05:00:00Z'
3.0:anyURI-from-string s' http://www.example.com ' -> u'http://www.example.com'
3.0:anyURI-from-string s'http://a/%zz' -> syntax-error
3.0:string-from-anyURI u'HTTP://Example.com/%7e' -> s'HTTP://Example.com/%7e'
3.0:dayTimeDuration-from-string s'P1DT2H' -> days'P1DT2H'
3.0:dayTimeDuration-from-string s'P1Y' -> syntax-error
3.0:string-from-dayTimeDuration days'P05DT002H00M0S' -> s'P5DT2H'
3.0:string-from-dayTimeDuration days'PT90061.10S' -> s'P1DT1H1M1.1S'
3.0:string-from-dayTimeDuration days'-PT0.5S' -> s'-PT0.5S'
3.0:string-from-dayTimeDuration days'-PT0S' -> s'PT0S'
3.0:yearMonthDuration-from-string s'-P1Y2M' -> months'-P14M'
3.0:yearMonthDuration-from-string s'P1D' -> syntax-error
3.0:string-from-yearMonthDuration months'-P004Y13M' -> s'-P5Y1M'
3.0:string-from-yearMonthDuration months'P0Y' -> s'P0M'
3.0:x500Name-from-string s'cn=John Smith, o=Medico Corp, c=US' -> x500'cn=John Smith, o=Medico Corp, c=US'
3.0:x500Name-from-string s'John Smith' -> syntax-error
3.0:string-from-x500Name x500'cn=John Smith, o=Medico Corp, c=US' -> s'cn=John Smith, o=Medico Corp, c=US'
3.0:rfc822Name-from-string s'Anderson@sun.com' -> mail'Anderson@sun.com'
3.0:rfc822Name-from-string s'Anderson' -> syntax-error
3.0:string-from-rfc822Name mail'Anderson@SUN.com' -> s'Anderson@SUN.com'
3.0:ipAddress-from-string s'192.168.1.10/255.255.255.0:8080' -> ip'192.168.1.10/255.255.255.0:8080'
3.0:ipAddress-from-string s'192.168.1' -> syntax-error
3.0:string-from-ipAddress ip'[2001:DB8::1]:80-90' -> s'[2001:DB8::1]:80-90'
3.0:dnsName-from-string s'*.example.com:-45' -> dns'*.example.com:-45'
3.0:dnsName-from-string s'exa mple.com' -> syntax-error
3.0:string-from-dnsName dns'Example.COM:1-' -> s'Example.COM:1-'
3.0:string-starts-with s'First' s'First test' -> b'true'
3.0:string-starts-with s'First test' s'First' -> b'false'
3.0:string-starts-with s'' s'x' -> b'true'
3.0:string-ends-with s'test' s'First test' -> b'true'
3.0:string-ends-with s'First test' s'test' -> b'false'
3.0:string-contains s'st te' s'First test' -> b'true'
3.0:string-contains s'First test' s'st te' -> b'false'
3.0:string-contains s'TEST' s'First test' -> b'false'
3.0:anyURI-starts-with s'http' u'http://www.example.com' -> b'true'
3.0:anyURI-starts-with s'.com' u'http://www.example.com' -> b'false'
3.0:anyURI-ends-with s'.com' u'http://www.example.com' -> b'true'
3.0:anyURI-ends-with s'http' u'http://www.example.com' -> b'false'
3.0:anyURI-contains s'example' u'http://www.example.com' -> b'true'
3.0:anyURI-contains s'sample' u'http://www.example.com' -> b'false'
3.0:string-substring s'First test' i'0' i'5' -> s'First'
3.0:string-substring s'First test' i'6' i'-1' -> s'test'
3.0:string-substring s'First test' i'0' i'10' -> s'First test'
3.0:string-substring s'First test' i'10' i'-1' -> s''
3.0:string-substring s'First test' i'10' i'10' -> s''
3.0:string-substring s'First test' i'3' i'3' -> s''
3.0:string-substring s'' i'0' i'-1' -> s''
3.0:string-substring s'aé😀b' i'1' i'3' -> s'é😀'
3.0:string-substring s'First test' i'0' i'11' -> processing-error
3.0:string-substring s'First test' i'11' i'-1' -> processing-error
3.0:string-substring s'First test' i'-1' i'-1' -> processing-error
3.0:string-substring s'First test' i'0' i'-2' -> processing-error
3.0:string-substring s'First test' i'5' i'4' -> processing-error
3.0:string-substring s'First test' i'100000000000000000000' i'-1' -> processing-error
3.0:string-substring s'First test' i'0' i'100000000000000000000' -> processing-error
3.0:anyURI-substring u'http://www.example.com' i'0' i'7' -> s'http://'
3.0:anyURI-substring u'http://www.example.com' i'11' i'-1' -> s'example.com'
3.0:anyURI-substring u'http://www.example.com' i'11' i'106' -> processing-error
3.0:anyURI-substring u'http://www.example.com' i'4' i'-1' -> processing-error
3.0:anyURI-substring u'http://a/%41' i'0' i'11' -> processing-error

# A.3.11 sets keep the first appearance
1.0:string-union [s'b' s'a'] [s'a' s'c'] [s'b'] -> [s'b' s'a' s'c']
1.0:string-intersection [s'b' s'a' s'b'] [s'a' s'b'] -> [s'b' s'a']
1.0:date-union [date'2024-01-01'] [date'2024-01-01Z'] -> [date'2024-01-01']

# A.3.13 regular expressions
1.0:string-regexp-match s'B.* Simpson' s'Bart Simpson' -> b'true'
1.0:string-regexp-match s'imps' s'Bart Simpson' -> b'true'
1.0:string-regexp-match s'^imps' s'Bart Simpson' -> b'false'
1.0:string-regexp-match s'[a-z-[aeiou]]{3}' s'aabc' -> b'false'
1.0:string-regexp-match s'(' s'(' -> processing-error
1.0:string-regexp-match s'(a)\1' s'aa' -> processing-error
1.0:string-regexp-match s'' s'' -> b'true'
2.0:anyURI-regexp-match s'^http://[^/]+/\i\c*$' u'http://example.com/abc' -> b'true'
2.0:ipAddress-regexp-match s'^10\.10\.10\.190:80$' ip'10.10.10.190:80' -> b'true'
2.0:ipAddress-regexp-match s'^10\.10\.10\.190$' ip'10.10.10.190:80' -> b'false'
2.0:dnsName-regexp-match s'\.example\.com' dns'*.example.com:80-90' -> b'true'
2.0:rfc822Name-regexp-match s'^[A-Z]\i+@' mail'Anderson@sun.com' -> b'true'
2.0:x500Name-regexp-match s'cn=.*,\s*c=US' x500'cn=Ann, c=US' -> b'true'
2.0:x500Name-regexp-match s'CN=' x500'cn=Ann, c=US' -> b'false'

# A.3.14 special matches
1.0:x500Name-match x500'o=Medico Corp,c=US' x500'cn=John Smith,o=Medico Corp, c=US' -> b'true'
1.0:x500Name-match x500'O=MEDICO  corp, C=us' x500'cn=John Smith,o=Medico Corp,c=US' -> b'true'
1.0:x500Name-match x500'cn=John Smith,o=Medico Corp,c=US' x500'cn=John Smith,o=Medico Corp,c=US' -> b'true'
1.0:x500Name-match x500'o=Another Corp,c=US' x500'cn=John Smith,o=Medico Corp,c=US' -> b'false'
1.0:x500Name-match x500'cn=John Smith,o=Medico Corp' x500'cn=John Smith,o=Medico Corp,c=US' -> b'false'
1.0:x500Name-match x500'cn=John Smith,o=Medico Corp,c=US' x500'o=Medico Corp,c=US' -> b'false'
1.0:rfc822Name-match s'Anderson@sun.com' mail'Anderson@sun.com' -> b'true'
1.0:rfc822Name-match s'Anderson@sun.com' mail'Anderson@SUN.COM' -> b'true'
1.0:rfc822Name-match s'Anderson@sun.com' mail'Anne.Anderson@sun.com' -> b'false'
1.0:rfc822Name-match s'Anderson@sun.com' mail'anderson@sun.com' -> b'false'
1.0:rfc822Name-match s'Anderson@sun.com' mail'Anderson@east.sun.com' -> b'false'
1.0:rfc822Name-match s'sun.com' mail'Anderson@sun.com' -> b'true'
1.0:rfc822Name-match s'sun.com' mail'Baxter@SUN.COM' -> b'true'
1.0:rfc822Name-match s'sun.com' mail'Anderson@east.sun.com' -> b'false'
1.0:rfc822Name-match s'.east.sun.com' mail'Anderson@east.sun.com' -> b'true'
1.0:rfc822Name-match s'.east.sun.com' mail'anne.anderson@ISRG.EAST.SUN.COM' -> b'true'
1.0:rfc822Name-match s'.east.sun.com' mail'Anderson@sun.com' -> b'false'
1.0:rfc822Name-match s'.sun.com' mail'Anderson@notsun.com' -> b'false'
1.0:rfc822Name-match s'.sun.com' mail'Anderson@a.b.SUN.com' -> b'true'
1.0:rfc822Name-match s'.' mail'Anderson@sun.com' -> b'false'
1.0:rfc822Name-match s'' mail'Anderson@sun.com' -> b'false'
1.0:rfc822Name-match s'@sun.com' mail'Anderson@sun.com' -> b'false'
";

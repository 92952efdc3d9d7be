use super::FUNCTIONS;
use durward_functions::check::{CallExample, TestedLibrary, array, decimal, values};
use durward_ir::Value;

const LIBRARY: TestedLibrary = TestedLibrary(FUNCTIONS);

fn results() -> Vec<CallExample<'static>> {
    vec![
        ("cidr.contains", values!["10.0.0.0/8", "10.1.2.3"], Ok("true")),
        ("cidr.contains", values!["10.0.0.7/8", "10.1.0.0/16"], Ok("true")),
        ("cidr.contains", values!["10.0.0.0/16", "10.0.0.0/8"], Ok("false")),
        // With bits behind its prefix it stands for one address.
        ("cidr.contains", values!["10.0.0.0/16", "10.0.0.5/8"], Ok("true")),
        ("cidr.contains", values!["10.0.0.0/8", "::1"], Ok("false")),
        ("cidr.contains", values!["10.0.0.0/8", "::ffff:10.0.0.1"], Ok("false")),
        ("cidr.contains", values!["fe80::/10", "fe80::1%eth0"], Ok("true")),
        (
            "cidr.containsMatches",
            values![array!["10.0.0.0/8", "172.16.0.0/12"], array!["172.16.5.5", "10.1.1.1", "8.8.8.8"]],
            Ok("[[0,1],[1,0]]"),
        ),
        ("cidr.contains", values!["10.0-3.0.*", "10.2.0.200"], Ok("true")),
        ("cidr.contains", values!["10.0-3.0.*", "10.2.1.200"], Ok("false")),
        ("cidr.contains", values!["127.0.0.0/8", " "], Ok("true")),
        ("cidr.intersects", values!["10.0-3.0.*", "10.3-9.*"], Ok("true")),
        ("cidr.isValid", values!["192.168-0.0/17"], Ok("true")),
        ("cidr.isValid", values!["fc00::-"], Ok("true")),
        ("cidr.isValid", values!["*"], Ok("false")),
        ("cidr.isValid", values!["/16"], Ok("false")),
        ("cidr.isValid", values!["1.2.3._1"], Ok("false")),
        ("cidr.expand", values!["10.0-1.0.4-5"], Ok(r#"["10.0.0.4","10.0.0.5","10.1.0.4","10.1.0.5"]"#)),
        ("cidr.getAddressCount", values!["192.168-0.0/17"], Ok(r#""5537792""#)),
        ("cidr.getAddressCount", values!["1.2.3.25_"], Ok(r#""6""#)),
        ("cidr.getNetworkAddress", values!["/64"], Ok(r#""ffff:ffff:ffff:ffff::""#)),
        ("cidr.getNetworkAddress", values!["192.0.2.5-3"], Ok(r#""192.0.2.3""#)),
        ("cidr.getBroadcastAddress", values!["-"], Ok(r#""255.255.255.255""#)),
        ("cidr.getBroadcastAddress", values!["1:*"], Ok(r#""1:ffff:ffff:ffff:ffff:ffff:ffff:ffff""#)),
        ("cidr.getBroadcastAddress", values!["20010db8000000000000000000000001"], Ok(r#""2001:db8::1""#)),
        ("cidr.expand", values!["10.0.0.0/30"], Ok(r#"["10.0.0.0","10.0.0.1","10.0.0.2","10.0.0.3"]"#)),
        ("cidr.expand", values!["::ffff:0:1/127"], Ok(r#"["::ffff:0:0","::ffff:0:1"]"#)),
        ("cidr.intersects", values!["10.0.0.0/8", "10.1.0.0/16"], Ok("true")),
        ("cidr.intersects", values!["10.0.0.0/8", "11.0.0.0/8"], Ok("false")),
        ("cidr.intersects", values!["10.0.0.0/8", "::ffff:10.0.0.1"], Ok("true")),
        ("cidr.intersects", values!["::/0", "10.0.0.1"], Ok("true")),
        ("cidr.isValid", values!["2001:DB8::1/64"], Ok("true")),
        ("cidr.isValid", values!["10.0.0.256"], Ok("false")),
        ("cidr.merge", values![array!["10.0.0.0/24", "10.0.1.0/24"]], Ok(r#"["10.0.0.0/23"]"#)),
        (
            "cidr.merge",
            values![array!["::1", "10.0.0.3", "10.0.0.1", "10.0.0.2", "10.0.0.1"]],
            Ok(r#"["10.0.0.1/32","10.0.0.2/31","::1/128"]"#),
        ),
        ("cidr.merge", values![array!["0.0.0.0/1", "128.0.0.0/1"]], Ok(r#"["0.0.0.0/0"]"#)),
        ("cidr.merge", values![array![]], Ok("[]")),
        ("cidr.isPrivateIpv4", values!["172.31.255.255"], Ok("true")),
        ("cidr.isPrivateIpv4", values!["fc00::1"], Ok("false")),
        ("cidr.isLoopback", values!["0177.1"], Ok("true")),
        ("cidr.isLoopback", values!["::1"], Ok("true")),
        ("cidr.isLinkLocal", values!["fe80::1%eth0"], Ok("true")),
        ("cidr.isMulticast", values!["239.1.1.1"], Ok("true")),
        ("cidr.isDocumentation", values!["2001:db8::"], Ok("true")),
        ("cidr.isCgnat", values!["100.127.255.255"], Ok("true")),
        ("cidr.isBenchmark", values!["198.20.0.0"], Ok("false")),
        ("cidr.isReserved", values!["::ffff:1.2.3.4"], Ok("true")),
        ("cidr.isReserved", values!["239.255.255.255"], Ok("false")),
        ("cidr.isBroadcast", values!["255.255.255.255"], Ok("true")),
        ("cidr.isPublicRoutable", values!["8.8.8.8"], Ok("true")),
        ("cidr.isPublicRoutable", values!["192.168.1.1"], Ok("false")),
        ("cidr.isPublicRoutable", values!["2606:4700::1111"], Ok("true")),
        // A block that is not within one kind as a whole counts as public.
        ("cidr.isPublicRoutable", values!["0.0.0.0/0"], Ok("true")),
        ("cidr.anonymizeIp", values!["10.1.2.3", 24], Ok(r#""10.1.2.0""#)),
        ("cidr.anonymizeIp", values!["10.1.2.3/8", decimal("2.4E+1")], Ok(r#""10.1.2.0""#)),
        ("cidr.anonymizeIp", values!["2001:db8:1:2:3::4%eth0", 48], Ok(r#""2001:db8:1::%eth0""#)),
        // Of a block with a longer prefix there are several; all of them are named.
        ("cidr.anonymizeIp", values!["10.0.0.0/8", 24], Ok(r#""10.*.*.0""#)),
        ("cidr.anonymizeIp", values!["2001::/20", 32], Ok(r#""2001:0-fff::""#)),
        ("cidr.anonymizeIp", values!["255.255.255.255", 0], Ok(r#""0.0.0.0""#)),
        (
            "cidr.hashIpPrefix",
            values!["192.0.2.77", 24, "salt"],
            Ok(r#""814b54ba1d9b558ba95e4e3185dc5bc46cb7d178a1f7aa471bd29cc004820075""#),
        ),
        ("cidr.getNetworkAddress", values!["10.0.0.5/8"], Ok(r#""10.0.0.0""#)),
        ("cidr.getBroadcastAddress", values!["fe80::1/64"], Ok(r#""fe80::ffff:ffff:ffff:ffff""#)),
        ("cidr.getAddressCount", values!["::/0"], Ok(r#""340282366920938463463374607431768211456""#)),
        ("cidr.getUsableHostCount", values!["10.0.0.0/24"], Ok(r#""254""#)),
        ("cidr.getUsableHostCount", values!["10.0.0.0/31"], Ok(r#""0""#)),
        ("cidr.getUsableHostCount", values!["10.0.0.0"], Ok(r#""-1""#)),
        ("cidr.getUsableHostCount", values!["::/127"], Ok(r#""1""#)),
        ("cidr.getFirstUsableAddress", values!["10.0.0.0/8"], Ok(r#""10.0.0.1""#)),
        ("cidr.getLastUsableAddress", values!["10.0.0.0/8"], Ok(r#""10.255.255.254""#)),
        ("cidr.getLastUsableAddress", values!["::/127"], Ok(r#""::1""#)),
        ("cidr.sameSubnet", values!["10.1.2.3", "10.1.9.9", 16], Ok("true")),
        ("cidr.sameSubnet", values!["10.1.2.3", "::1", 999], Ok("false")),
        ("cidr.sameSubnet", values!["fe80::1%a", "fe80::2%b", 64], Ok("false")),
        ("cidr.getCommonPrefixLength", values!["10.1.2.3", "10.1.130.3"], Ok("16")),
        ("cidr.getCommonPrefixLength", values!["10.1.2.3", "10.1.2.3"], Ok("32")),
        ("cidr.getCommonPrefixLength", values!["::", "10.1.2.3"], Ok("0")),
        ("cidr.canSubdivide", values!["10.0.0.0/8", 16], Ok("true")),
        ("cidr.canSubdivide", values!["10.0.0.5/8", 16], Ok("false")),
        ("cidr.canSubdivide", values!["10.0.0.0/8", 8], Ok("false")),
    ]
}

#[test]
fn functions_of_cidr_compute_what_the_java_library_computes() {
    let results = results();
    LIBRARY.rows(&results);
    LIBRARY.all_called(&results);
}

#[test]
fn faults_name_what_is_no_address() {
    LIBRARY.rows(&[
        ("cidr.contains", values!["x", "10.0.0.1"], Err("Invalid CIDR: x.")),
        ("cidr.contains", values!["10.0.0.0/8", "x"], Err("Invalid IP address: x.")),
        ("cidr.containsMatches", values![array![1], array![]], Err("Array must contain only strings.")),
        ("cidr.merge", values![array!["10.0.0.1", "y"]], Err("Invalid address: y.")),
        ("cidr.intersects", values!["10.0.0.0/8", "z"], Err("Invalid second CIDR: z.")),
        ("cidr.isLoopback", values!["localhost"], Err("Invalid address: localhost.")),
        ("cidr.isPublicRoutable", values!["x"], Err("Invalid IP address: x.")),
        ("cidr.sameSubnet", values!["10.0.0.1", "x", 8], Err("Invalid second IP: x.")),
        ("cidr.expand", values!["10.0.0.0/16"], Err("CIDR contains 65536 addresses, maximum is 65535.")),
        (
            "cidr.expand",
            values!["::/0"],
            Err("CIDR contains 340282366920938463463374607431768211456 addresses, maximum is 65535."),
        ),
        ("cidr.anonymizeIp", values!["10.0.0.1", 33], Err("Prefix 33 out of range for IPv4 (0-32).")),
        (
            "cidr.anonymizeIp",
            values!["::1", decimal("-1.0")],
            Err("Prefix -1 out of range for IPv6 (0-128)."),
        ),
        ("cidr.anonymizeIp", values!["::1", decimal("1E+2")], Ok(r#""::""#)),
        (
            "cidr.anonymizeIp",
            values!["10.0.0.1", decimal("24.5")],
            Err("Prefix length must be an integer: 24.5."),
        ),
        ("cidr.canSubdivide", values!["10.0.0.0", 16], Err("CIDR missing prefix length: 10.0.0.0.")),
    ]);
    LIBRARY.faults(&[
        ("cidr.getFirstUsableAddress", values!["255.255.255.255"], "There is no address after"),
        ("cidr.getLastUsableAddress", values!["0.0.0.0/32"], "There is no address before"),
        ("cidr.intersects", values!["10.0.0.0/8", "::1"], "IPv4 cannot be intersected"),
        (
            "cidr.merge",
            values![Value::array(vec!["10.0.0.1".into(); 1001].into_iter().map(Value::Text))],
            "Address array size 1001 exceeds the maximum of 1000.",
        ),
    ]);
}

/// What the texts that stand for addresses mean, in the form the address is written back.
#[test]
fn addresses_are_read_with_the_liberties_of_the_java_library() {
    for (text, wanted) in [
        (" 10.0.0.1\n", Some("10.0.0.1")),
        ("010.0x0a.0b1.1", Some("8.10.1.1")),
        ("10.1", Some("10.0.0.1")),
        ("167772161", Some("10.0.0.1")),
        ("10.0.0.5/255.0.255.0", Some("10.0.0.0")),
        ("1::1.2.3.4", Some("1::102:304")),
        ("0:0:1:0:0:0:0:1", Some("0:0:1::1")),
        ("1:0:2:3:4:5:6:7", Some("1:0:2:3:4:5:6:7")),
        ("00001::%", Some("1::")),
        ("", Some("127.0.0.1")),
        ("10.0.0.*", Some("10.0.0.0")),
        ("9-5.0.0.0", Some("5.0.0.0")),
        ("/64", Some("ffff:ffff:ffff:ffff::")),
        ("1-", None),
        ("::ffff:*.2.3.4", None),
        ("10.0.0.0/33", None),
        ("10.0.0.0/", None),
        ("10.0.0.0/+8", None),
        ("08.0.0.1", None),
        ("4294967296", None),
        ("1::2::3", None),
        ("1:2:3:4:5:6:7:8::", None),
        ("[::1]", None),
        ("10.0.0.1:80", None),
        ("2001:db8::/32%eth0", None),
        ("１.2.3.4", None),
    ] {
        let read = super::CidrAddress::read(text).map(|address| address.extent().write(address.bits));
        assert_eq!(read.ok().as_deref(), wanted, "{text}");
    }
}

/// The Java engine sorts blocks by their size before it joins them. That loses blocks; decisions must not differ.
#[test]
fn merging_blocks_of_different_sizes_loses_some_as_in_java() {
    LIBRARY.rows(&[
        ("cidr.merge", values![array!["1.2.3.0/24", "1.2.4.0/30"]], Ok(r#"["1.2.4.0/30"]"#)),
        ("cidr.merge", values![array!["1.2.4.0/24", "1.2.3.0/30"]], Ok(r#"["1.2.3.0/30","1.2.4.0/24"]"#)),
    ]);
}

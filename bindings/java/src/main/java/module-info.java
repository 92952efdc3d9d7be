/** Decisions of policies in SAPL and XACML, by the library of durward. Give it access to native code: {@code --enable-native-access=io.durward}. */
module io.durward {
    exports io.durward;
}

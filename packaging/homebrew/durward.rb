# `cargo xtask dist --url URL` fills in what stands between @. A block between `# for` and `# end` is about the first of
# its targets that there is an archive for, and is left out where there is none.
class Durward < Formula
  desc "Policy decision point for XACML 3.0 and SAPL 4"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    # for aarch64-apple-darwin
    on_arm do
      url "@URL@/durward-@VERSION@-@TARGET@.tar.gz"
      sha256 "@SHA256@"
    end
    # end
    # for x86_64-apple-darwin
    on_intel do
      url "@URL@/durward-@VERSION@-@TARGET@.tar.gz"
      sha256 "@SHA256@"
    end
    # end
  end

  on_linux do
    # for aarch64-unknown-linux-musl aarch64-unknown-linux-gnu
    on_arm do
      url "@URL@/durward-@VERSION@-@TARGET@.tar.gz"
      sha256 "@SHA256@"
    end
    # end
    # for x86_64-unknown-linux-musl x86_64-unknown-linux-gnu
    on_intel do
      url "@URL@/durward-@VERSION@-@TARGET@.tar.gz"
      sha256 "@SHA256@"
    end
    # end
  end

  def install
    bin.install "durward"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/durward.bash" => "durward"
    zsh_completion.install "completions/_durward"
    fish_completion.install "completions/durward.fish"
    (etc/"durward/policies").mkpath
    etc.install "etc/durward.toml" => "durward/durward.toml"
  end

  service do
    run [opt_bin/"durward", "serve", "--config", etc/"durward/durward.toml"]
    keep_alive true
    log_path var/"log/durward.log"
    error_log_path var/"log/durward.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/durward --version")
    (testpath/"policies/all.sapl").write 'policy "all" permit'
    command = "#{bin}/durward decide --policies policies -s '\"a\"' -a '\"b\"' -r '\"c\"'"
    assert_match "PERMIT", shell_output(command)
  end
end

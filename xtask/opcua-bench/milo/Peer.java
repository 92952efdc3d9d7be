import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.eclipse.milo.opcua.sdk.client.DiscoveryClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClientConfig;
import org.eclipse.milo.opcua.sdk.server.EndpointConfig;
import org.eclipse.milo.opcua.sdk.server.OpcUaServer;
import org.eclipse.milo.opcua.sdk.server.OpcUaServerConfig;
import org.eclipse.milo.opcua.sdk.server.identity.AnonymousIdentityValidator;
import org.eclipse.milo.opcua.stack.core.NodeIds;
import org.eclipse.milo.opcua.stack.core.security.CertificateFactory;
import org.eclipse.milo.opcua.stack.core.security.CertificateGroup;
import org.eclipse.milo.opcua.stack.core.security.CertificateValidator;
import org.eclipse.milo.opcua.stack.core.security.DefaultCertificateManager;
import org.eclipse.milo.opcua.stack.core.security.MemoryCertificateQuarantine;
import org.eclipse.milo.opcua.stack.core.security.MemoryTrustListManager;
import org.eclipse.milo.opcua.stack.core.security.SecurityPolicy;
import org.eclipse.milo.opcua.stack.core.security.TrustListManager;
import org.eclipse.milo.opcua.stack.core.transport.TransportProfile;
import org.eclipse.milo.opcua.stack.core.types.builtin.LocalizedText;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.enumerated.MessageSecurityMode;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateBuilder;
import org.eclipse.milo.opcua.stack.core.util.SelfSignedCertificateGenerator;
import org.eclipse.milo.opcua.stack.transport.server.tcp.OpcTcpServerTransport;
import org.eclipse.milo.opcua.stack.transport.server.tcp.OpcTcpServerTransportConfig;

/**
 * Eclipse Milo as a server, and as a client that connects again and again: {@code server PORT}, {@code client URL COUNT}. The server says
 * {@code ready}; the client says the microseconds of each connection, one a line. Nobody checks certificates of others: that costs a
 * directory each time in some stacks, and nothing in others.
 */
public final class Peer {
  /** Connections before the first that counts: what is compiled while the program runs is compiled by then. */
  private static final int WARM = 200;

  private static final String SERVER_URI = "urn:durward:peer:milo:server";
  private static final String CLIENT_URI = "urn:durward:peer:milo";

  public static void main(String[] words) throws Exception {
    switch (words[0]) {
      case "server" -> server(Integer.parseInt(words[1]));
      case "client" -> client(words[1], Integer.parseInt(words[2]));
      default -> throw new IllegalArgumentException("server PORT, or client URL COUNT");
    }
  }

  private static X509Certificate certificate(KeyPair keys, String uri) throws Exception {
    return new SelfSignedCertificateBuilder(keys)
        .setCommonName("peer").setApplicationUri(uri).addDnsName("localhost").addIpAddress("127.0.0.1").build();
  }

  private static void server(int port) throws Exception {
    KeyPair keys = SelfSignedCertificateGenerator.generateRsaKeyPair(2048);
    X509Certificate certificate = certificate(keys, SERVER_URI);
    EndpointConfig.Builder endpoint = EndpointConfig.newBuilder()
        .setBindAddress("127.0.0.1").setBindPort(port).setHostname("127.0.0.1").setCertificate(certificate)
        .setTransportProfile(TransportProfile.TCP_UASC_UABINARY);
    EndpointConfig none = endpoint.copy()
        .setSecurityPolicy(SecurityPolicy.None).setSecurityMode(MessageSecurityMode.None).build();
    EndpointConfig secure = endpoint.copy()
        .setSecurityPolicy(SecurityPolicy.Basic256Sha256).setSecurityMode(MessageSecurityMode.SignAndEncrypt).build();
    OpcUaServerConfig config = OpcUaServerConfig.builder()
        .setApplicationName(LocalizedText.english("peer")).setApplicationUri(SERVER_URI).setProductUri(SERVER_URI)
        .setEndpoints(Set.of(none, secure)).setIdentityValidator(AnonymousIdentityValidator.INSTANCE)
        .setCertificateManager(
            new DefaultCertificateManager(new MemoryCertificateQuarantine(), new Own(keys, certificate)))
        .build();
    OpcUaServer server = new OpcUaServer(config,
        profile -> new OpcTcpServerTransport(OpcTcpServerTransportConfig.newBuilder().build()));
    server.startup().get();
    System.out.println("ready");
    Thread.currentThread().join();
  }

  private static void client(String url, int count) throws Exception {
    KeyPair keys = SelfSignedCertificateGenerator.generateRsaKeyPair(2048);
    X509Certificate certificate = certificate(keys, CLIENT_URI);
    var endpoints = DiscoveryClient.getEndpoints(url).get();
    var endpoint = endpoints.stream()
        .filter(one -> one.getSecurityMode() == MessageSecurityMode.SignAndEncrypt).findFirst().orElseThrow();
    OpcUaClientConfig config = OpcUaClientConfig.builder()
        .setApplicationName(LocalizedText.english("peer")).setApplicationUri(CLIENT_URI)
        .setEndpoint(endpoint).setKeyPair(keys).setCertificate(certificate)
        .setCertificateChain(new X509Certificate[] {certificate})
        .setCertificateValidator(new CertificateValidator.InsecureCertificateValidator()).build();
    for (int number = 0; number < count + WARM; number++) {
      long begun = System.nanoTime();
      OpcUaClient client = OpcUaClient.create(config);
      client.connect();
      long time = System.nanoTime() - begun;
      if (number >= WARM) {
        System.out.println(time / 1000);
      }
      client.disconnect();
      Thread.sleep(5);
    }
    System.exit(0);
  }

  /** The server's one certificate. */
  private record Own(KeyPair keys, X509Certificate certificate) implements CertificateGroup {
    @Override public NodeId getCertificateGroupId() {
      return NodeIds.ServerConfiguration_CertificateGroups_DefaultApplicationGroup;
    }

    @Override public List<NodeId> getSupportedCertificateTypeIds() {
      return List.of(NodeIds.RsaSha256ApplicationCertificateType);
    }

    @Override public TrustListManager getTrustListManager() {
      return new MemoryTrustListManager();
    }

    @Override public List<Entry> getCertificateEntries() {
      X509Certificate[] chain = {certificate};
      return List.of(new Entry(getCertificateGroupId(), NodeIds.RsaSha256ApplicationCertificateType, chain));
    }

    @Override public Optional<KeyPair> getKeyPair(NodeId type) {
      return Optional.of(keys);
    }

    @Override public Optional<X509Certificate[]> getCertificateChain(NodeId type) {
      return Optional.of(new X509Certificate[] {certificate});
    }

    @Override public void updateCertificate(NodeId type, KeyPair keys, X509Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override public CertificateFactory getCertificateFactory() {
      throw new UnsupportedOperationException();
    }

    @Override public CertificateValidator getCertificateValidator() {
      return new CertificateValidator.InsecureCertificateValidator();
    }
  }
}

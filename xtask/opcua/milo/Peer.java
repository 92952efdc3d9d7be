import static org.eclipse.milo.opcua.stack.core.types.builtin.unsigned.Unsigned.uint;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.crypto.Cipher;
import org.eclipse.milo.opcua.sdk.client.DiscoveryClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaClient;
import org.eclipse.milo.opcua.sdk.client.OpcUaSession;
import org.eclipse.milo.opcua.sdk.client.identity.AnonymousProvider;
import org.eclipse.milo.opcua.sdk.client.identity.IdentityProvider;
import org.eclipse.milo.opcua.sdk.client.identity.SignedIdentityToken;
import org.eclipse.milo.opcua.sdk.client.identity.UsernameProvider;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaMonitoredItem;
import org.eclipse.milo.opcua.sdk.client.subscriptions.OpcUaSubscription;
import org.eclipse.milo.opcua.sdk.core.AccessLevel;
import org.eclipse.milo.opcua.sdk.server.EndpointConfig;
import org.eclipse.milo.opcua.sdk.server.ManagedNamespaceWithLifecycle;
import org.eclipse.milo.opcua.sdk.server.OpcUaServer;
import org.eclipse.milo.opcua.sdk.server.OpcUaServerConfig;
import org.eclipse.milo.opcua.sdk.server.identity.UsernameIdentityValidator;
import org.eclipse.milo.opcua.sdk.server.items.DataItem;
import org.eclipse.milo.opcua.sdk.server.items.MonitoredItem;
import org.eclipse.milo.opcua.sdk.server.methods.AbstractMethodInvocationHandler;
import org.eclipse.milo.opcua.sdk.server.nodes.UaMethodNode;
import org.eclipse.milo.opcua.sdk.server.nodes.UaObjectNode;
import org.eclipse.milo.opcua.sdk.server.nodes.UaVariableNode;
import org.eclipse.milo.opcua.sdk.server.util.SubscriptionModel;
import org.eclipse.milo.opcua.sdk.core.Reference;
import org.eclipse.milo.opcua.stack.core.NodeIds;
import org.eclipse.milo.opcua.stack.core.StatusCodes;
import org.eclipse.milo.opcua.stack.core.UaException;
import org.eclipse.milo.opcua.stack.core.security.CertificateFactory;
import org.eclipse.milo.opcua.stack.core.security.CertificateGroup;
import org.eclipse.milo.opcua.stack.core.security.CertificateValidator;
import org.eclipse.milo.opcua.stack.core.security.DefaultCertificateManager;
import org.eclipse.milo.opcua.stack.core.security.DefaultClientCertificateValidator;
import org.eclipse.milo.opcua.stack.core.security.DefaultServerCertificateValidator;
import org.eclipse.milo.opcua.stack.core.security.MemoryCertificateQuarantine;
import org.eclipse.milo.opcua.stack.core.security.MemoryTrustListManager;
import org.eclipse.milo.opcua.stack.core.security.SecurityAlgorithm;
import org.eclipse.milo.opcua.stack.core.security.SecurityPolicy;
import org.eclipse.milo.opcua.stack.core.security.TrustListManager;
import org.eclipse.milo.opcua.stack.core.types.builtin.ByteString;
import org.eclipse.milo.opcua.stack.core.types.builtin.DataValue;
import org.eclipse.milo.opcua.stack.core.types.builtin.ExtensionObject;
import org.eclipse.milo.opcua.stack.core.types.builtin.LocalizedText;
import org.eclipse.milo.opcua.stack.core.types.builtin.NodeId;
import org.eclipse.milo.opcua.stack.core.types.builtin.QualifiedName;
import org.eclipse.milo.opcua.stack.core.types.builtin.StatusCode;
import org.eclipse.milo.opcua.stack.core.types.builtin.Variant;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseDirection;
import org.eclipse.milo.opcua.stack.core.types.enumerated.BrowseResultMask;
import org.eclipse.milo.opcua.stack.core.types.enumerated.MessageSecurityMode;
import org.eclipse.milo.opcua.stack.core.types.enumerated.TimestampsToReturn;
import org.eclipse.milo.opcua.stack.core.types.enumerated.UserTokenType;
import org.eclipse.milo.opcua.stack.core.types.structured.ActivateSessionRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.ActivateSessionResponse;
import org.eclipse.milo.opcua.stack.core.types.structured.Argument;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.BrowseResult;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodRequest;
import org.eclipse.milo.opcua.stack.core.types.structured.CallMethodResult;
import org.eclipse.milo.opcua.stack.core.types.structured.EndpointDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.IssuedIdentityToken;
import org.eclipse.milo.opcua.stack.core.types.structured.ReferenceDescription;
import org.eclipse.milo.opcua.stack.core.types.structured.SignatureData;
import org.eclipse.milo.opcua.stack.core.types.structured.SignedSoftwareCertificate;
import org.eclipse.milo.opcua.stack.core.types.structured.UserTokenPolicy;
import org.eclipse.milo.opcua.stack.core.util.CertificateUtil;
import org.eclipse.milo.opcua.stack.core.util.SignatureUtil;
import org.eclipse.milo.opcua.stack.transport.server.tcp.OpcTcpServerTransport;
import org.eclipse.milo.opcua.stack.transport.server.tcp.OpcTcpServerTransportConfig;

/**
 * Eclipse Milo as a server and as a client, for `cargo xtask opcua`: see xtask/src/opcua/puppet.rs for what it is told and what it
 * answers.
 *
 * <p>java Peer server PKI PORT USER PASSWORD
 *
 * <p>java Peer client PKI
 */
final class Peer {
  private static final String NAMESPACE = "urn:durward:peer";
  private static final String JWT = "http://opcfoundation.org/UA/UserToken#JWT";

  public static void main(String[] words) throws Exception {
    if (words[0].equals("server")) {
      Tank.serve(new Pki(words[1]), Integer.parseInt(words[2]), words[3], words[4]);
    } else {
      new Peer(new Pki(words[1])).obey();
    }
  }

  /** Certificates of a directory. */
  private static final class Pki {
    final X509Certificate certificate;
    final KeyPair keys;
    final TrustListManager trusted = new MemoryTrustListManager();

    Pki(String folder) throws Exception {
      certificate = CertificateUtil.decodeCertificate(Files.readAllBytes(Path.of(folder, "own/certs/application.der")));
      byte[] key = Files.readAllBytes(Path.of(folder, "own/private/application.der"));
      keys = new KeyPair(
          certificate.getPublicKey(), KeyFactory.getInstance("RSA").generatePrivate(new PKCS8EncodedKeySpec(key)));
      List<Path> files;
      try (var found = Files.list(Path.of(folder, "trusted/certs"))) {
        files = found.toList();
      }
      for (Path file : files) {
        trusted.addTrustedCertificate(CertificateUtil.decodeCertificate(Files.readAllBytes(file)));
      }
    }
  }

  // The client

  private final Pki pki;
  private OpcUaClient client;
  private OpcUaSubscription subscription;
  private final LinkedBlockingQueue<String> values = new LinkedBlockingQueue<>();

  private Peer(Pki pki) {
    this.pki = pki;
  }

  /** Says who the user is. */
  private static IdentityProvider provider(List<String> who) {
    return switch (who.get(0)) {
      case "user" -> new UsernameProvider(who.get(1), who.get(2));
      case "token" -> (endpoint, nonce) -> issued(who.get(1), endpoint, nonce);
      default -> new AnonymousProvider();
    };
  }

  private static Optional<UserTokenPolicy> policy(EndpointDescription endpoint) {
    UserTokenPolicy[] policies = endpoint.getUserIdentityTokens();
    return Arrays.stream(policies).filter(policy -> JWT.equals(policy.getIssuedTokenType())).findFirst();
  }

  /** An issued token as its policy wants it: plain, or with the server's nonce in as many blocks as they need (Part 4, 7.41.2.2). */
  private static SignedIdentityToken issued(String text, EndpointDescription endpoint, ByteString nonce)
      throws Exception {
    UserTokenPolicy policy = policy(endpoint).orElseThrow();
    byte[] token = text.getBytes();
    String algorithm = null;
    if (!SecurityPolicy.None.getUri().equals(policy.getSecurityPolicyUri())) {
      algorithm = SecurityAlgorithm.RsaOaepSha1.getUri();
      byte[] last = nonce.bytesOrEmpty();
      ByteBuffer plain = ByteBuffer.allocate(4 + token.length + last.length).order(ByteOrder.LITTLE_ENDIAN);
      plain.putInt(token.length + last.length).put(token).put(last).flip();
      Cipher cipher = Cipher.getInstance("RSA/ECB/OAEPWithSHA-1AndMGF1Padding");
      byte[] certificate = endpoint.getServerCertificate().bytesOrEmpty();
      cipher.init(Cipher.ENCRYPT_MODE, CertificateUtil.decodeCertificate(certificate).getPublicKey());
      var sealed = new java.io.ByteArrayOutputStream();
      while (plain.hasRemaining()) {
        byte[] block = new byte[Math.min(214, plain.remaining())];
        plain.get(block);
        sealed.write(cipher.doFinal(block));
      }
      token = sealed.toByteArray();
    }
    return new SignedIdentityToken(
        new IssuedIdentityToken(policy.getPolicyId(), ByteString.of(token), algorithm), new SignatureData(null, null));
  }

  private static boolean isSecured(EndpointDescription endpoint) {
    return endpoint.getSecurityMode() == MessageSecurityMode.SignAndEncrypt
        && SecurityPolicy.Basic256Sha256.getUri().equals(endpoint.getSecurityPolicyUri());
  }

  private OpcUaClient connect(String url, IdentityProvider identity) throws UaException {
    OpcUaClient made = OpcUaClient.create(
        url,
        endpoints -> endpoints.stream().filter(Peer::isSecured).findFirst(),
        transport -> transport.setChannelLifetime(uint(60_000)),
        config -> config.setApplicationUri("urn:durward:peer:milo")
            .setApplicationName(LocalizedText.english("durward peer"))
            .setKeyPair(pki.keys)
            .setCertificate(pki.certificate)
            .setCertificateChain(new X509Certificate[] {pki.certificate})
            .setCertificateValidator(new DefaultClientCertificateValidator(pki.trusted, new MemoryCertificateQuarantine()))
            .setRequestTimeout(uint(15_000))
            .setIdentityProvider(identity));
    try {
      return made.connect();
    } catch (UaException refused) {
      // It would try again for ever.
      made.disconnectAsync();
      throw refused;
    }
  }

  private List<String> open(String url, List<String> who) throws Exception {
    close();
    client = connect(url, provider(who));
    return List.of();
  }

  /** ActivateSession for the session that there is, which Milo has no function for. */
  private List<String> renew(List<String> who) throws Exception {
    OpcUaSession session = client.getSession();
    EndpointDescription endpoint = client.getConfig().getEndpoint();
    SignedIdentityToken identity = provider(who).getIdentityToken(endpoint, session.getServerNonce());
    byte[] signature = SignatureUtil.sign(
        SecurityAlgorithm.RsaSha256,
        pki.keys.getPrivate(),
        ByteBuffer.wrap(endpoint.getServerCertificate().bytesOrEmpty()),
        ByteBuffer.wrap(session.getServerNonce().bytesOrEmpty()));
    var request = new ActivateSessionRequest(
        client.newRequestHeader(session.getAuthenticationToken()),
        new SignatureData(SecurityAlgorithm.RsaSha256.getUri(), ByteString.of(signature)),
        new SignedSoftwareCertificate[0],
        new String[0],
        ExtensionObject.encode(client.getStaticEncodingContext(), identity.getToken()),
        identity.getSignature());
    var response = (ActivateSessionResponse) client.sendRequest(request);
    session.setServerNonce(response.getServerNonce());
    return List.of();
  }

  private List<String> close() throws UaException {
    if (client != null) {
      client.disconnect();
      client = null;
      subscription = null;
      values.clear();
    }
    return List.of();
  }

  private List<String> issuer(String url) throws Exception {
    List<EndpointDescription> endpoints = DiscoveryClient.getEndpoints(url).get();
    return List.of(policy(endpoints.get(0)).orElseThrow().getIssuerEndpointUrl());
  }

  private List<String> token(String url, String name, String password, String resource) throws Exception {
    OpcUaClient authority = connect(url, new UsernameProvider(name, password));
    try {
      var index = authority.readNamespaceTable().getIndex("urn:durward:opcua:authority");
      var service = new NodeId(index, "AuthorizationService");
      var method = new NodeId(index, "AuthorizationService.RequestAccessToken");
      Variant[] inputs = {Variant.ofExtensionObject(null), Variant.ofString(resource)};
      return List.of(String.valueOf(call(authority, service, method, inputs)[0].getValue()));
    } finally {
      authority.disconnect();
    }
  }

  private static Variant[] call(OpcUaClient client, NodeId object, NodeId method, Variant[] inputs) throws UaException {
    CallMethodResult result = client.call(List.of(new CallMethodRequest(object, method, inputs))).getResults()[0];
    check(result.getStatusCode());
    return result.getOutputArguments() == null ? new Variant[0] : result.getOutputArguments();
  }

  private static void check(StatusCode status) throws UaException {
    if (status != null && status.isBad()) {
      throw new UaException(status);
    }
  }

  private List<String> read(String node) throws UaException {
    DataValue value = client.readValue(0, TimestampsToReturn.Both, NodeId.parse(node));
    check(value.getStatusCode());
    return List.of(String.valueOf(value.getValue().getValue()));
  }

  private List<String> write(String node, String number) throws UaException {
    DataValue value = DataValue.valueOnly(Variant.ofDouble(Double.parseDouble(number)));
    check(client.writeValues(List.of(NodeId.parse(node)), List.of(value)).get(0));
    return List.of();
  }

  private List<String> callMethod(List<String> words) throws UaException {
    Variant[] inputs =
        words.stream().skip(2).map(Double::parseDouble).map(Variant::ofDouble).toArray(Variant[]::new);
    Variant[] outputs = call(client, NodeId.parse(words.get(0)), NodeId.parse(words.get(1)), inputs);
    return Arrays.stream(outputs).map(output -> String.valueOf(output.getValue())).toList();
  }

  private List<String> browse(String node) throws UaException {
    BrowseResult result = client.browse(new BrowseDescription(
        NodeId.parse(node), BrowseDirection.Forward, NodeId.NULL_VALUE, true, uint(0), uint(BrowseResultMask.All.getValue())));
    check(result.getStatusCode());
    ReferenceDescription[] references = result.getReferences();
    return references == null
        ? List.of()
        : Arrays.stream(references).map(reference -> reference.getBrowseName().getName()).toList();
  }

  private List<String> watch(String node) throws Exception {
    if (subscription != null) {
      subscription.delete();
    }
    subscription = new OpcUaSubscription(client, 100.0);
    subscription.create();
    values.clear();
    OpcUaMonitoredItem item = OpcUaMonitoredItem.newDataItem(NodeId.parse(node));
    item.setSamplingInterval(100.0);
    item.setDataValueListener((watched, value) -> {
      StatusCode status = value.getStatusCode();
      values.add(status != null && status.isBad() ? name(status.getValue()) : String.valueOf(value.getValue().getValue()));
    });
    subscription.addMonitoredItem(item);
    var result = subscription.createMonitoredItems().get(0);
    check(result.serviceResult());
    if (result.operationResult().isPresent()) {
      check(result.operationResult().get());
    }
    return List.of();
  }

  private List<String> next(String ms) throws InterruptedException {
    String value = values.poll(Long.parseLong(ms), TimeUnit.MILLISECONDS);
    return List.of(value == null ? "silent" : value);
  }

  private static String name(long status) {
    return StatusCodes.lookup(status).map(found -> found[0].replaceFirst("_", "")).orElse(Long.toHexString(status));
  }

  private List<String> answer(List<String> words) throws Exception {
    List<String> rest = words.subList(1, words.size());
    return switch (words.get(0)) {
      case "issuer" -> issuer(rest.get(0));
      case "token" -> token(rest.get(0), rest.get(1), rest.get(2), rest.get(3));
      case "open" -> open(rest.get(0), rest.subList(1, rest.size()));
      case "renew" -> renew(rest);
      case "read" -> read(rest.get(0));
      case "write" -> write(rest.get(0), rest.get(1));
      case "call" -> callMethod(rest);
      case "browse" -> browse(rest.get(0));
      case "watch" -> watch(rest.get(0));
      case "next" -> next(rest.get(0));
      default -> close();
    };
  }

  private void obey() throws IOException {
    var input = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = input.readLine()) != null; ) {
      var said = new ArrayList<String>();
      try {
        said.add("ok");
        said.addAll(answer(List.of(line.split("\t"))));
      } catch (Exception refused) {
        said.clear();
        said.add("no");
        String status = UaException.extractStatusCode(refused).map(code -> name(code.getValue())).orElse("");
        said.add((status + " " + refused.getMessage()).trim().replace('\n', ' '));
      }
      System.out.println(String.join("\t", said));
    }
    System.exit(0);
  }

  /** The server. */
  private static final class Tank extends ManagedNamespaceWithLifecycle {
    private final SubscriptionModel subscriptions;
    private UaObjectNode tank;

    static void serve(Pki pki, int port, String user, String password) throws Exception {
      UserTokenPolicy byPassword = new UserTokenPolicy(
          "username", UserTokenType.UserName, null, null, SecurityPolicy.Basic256Sha256.getUri());
      EndpointConfig.Builder endpoint = EndpointConfig.newBuilder()
          .setBindAddress("127.0.0.1")
          .setBindPort(port)
          .setHostname("127.0.0.1")
          .setPath("")
          .setCertificate(pki.certificate)
          .addTokenPolicies(byPassword);
      EndpointConfig secured = endpoint.copy()
          .setSecurityPolicy(SecurityPolicy.Basic256Sha256)
          .setSecurityMode(MessageSecurityMode.SignAndEncrypt)
          .build();
      // For discovery.
      EndpointConfig plain =
          endpoint.copy().setSecurityPolicy(SecurityPolicy.None).setSecurityMode(MessageSecurityMode.None).build();
      var quarantine = new MemoryCertificateQuarantine();
      OpcUaServerConfig config = OpcUaServerConfig.builder()
          .setApplicationUri("urn:durward:peer:milo:server")
          .setApplicationName(LocalizedText.english("durward peer"))
          .setProductUri("urn:durward:peer")
          .setEndpoints(Set.of(secured, plain))
          .setIdentityValidator(new UsernameIdentityValidator(
              attempt -> attempt.getUsername().equals(user) && attempt.getPassword().equals(password)))
          .setCertificateManager(new DefaultCertificateManager(quarantine, new Group(pki, quarantine)))
          .build();
      var server = new OpcUaServer(
          config, profile -> new OpcTcpServerTransport(OpcTcpServerTransportConfig.newBuilder().build()));
      new Tank(server).startup();
      server.startup().get();
      System.out.println("ready");
    }

    private Tank(OpcUaServer server) {
      super(server, NAMESPACE);
      subscriptions = new SubscriptionModel(server, this);
      getLifecycleManager().addLifecycle(subscriptions);
      getLifecycleManager().addStartupTask(this::addNodes);
    }

    private void addNodes() {
      tank = new UaObjectNode(
          getNodeContext(), newNodeId("Tank"), newQualifiedName("Tank"), LocalizedText.english("Tank"), null, uint(0), uint(0));
      tank.addReference(new Reference(
          tank.getNodeId(), NodeIds.HasTypeDefinition, NodeIds.BaseObjectType.expanded(), true));
      tank.addReference(new Reference(tank.getNodeId(), NodeIds.Organizes, NodeIds.ObjectsFolder.expanded(), false));
      getNodeManager().addNode(tank);
      UaVariableNode level = variable("Level", AccessLevel.READ_ONLY);
      variable("SetPoint", AccessLevel.READ_WRITE);
      variable("Secret", AccessLevel.READ_WRITE);
      method("Double");
      method("Forbidden");
      double[] value = {0.0};
      Executors.newSingleThreadScheduledExecutor().scheduleAtFixedRate(
          () -> level.setValue(new DataValue(Variant.ofDouble(value[0]++))), 100, 100, TimeUnit.MILLISECONDS);
    }

    private UaVariableNode variable(String name, Set<AccessLevel> access) {
      UaVariableNode node = UaVariableNode.builder(getNodeContext())
          .setNodeId(newNodeId("Tank." + name))
          .setBrowseName(newQualifiedName(name))
          .setDisplayName(LocalizedText.english(name))
          .setDataType(NodeIds.Double)
          .setTypeDefinition(NodeIds.BaseDataVariableType)
          .setAccessLevel(access)
          .setUserAccessLevel(access)
          .setValue(new DataValue(Variant.ofDouble(1.0)))
          .build();
      getNodeManager().addNode(node);
      tank.addComponent(node);
      return node;
    }

    private void method(String name) {
      UaMethodNode node = UaMethodNode.builder(getNodeContext())
          .setNodeId(newNodeId("Tank." + name))
          .setBrowseName(newQualifiedName(name))
          .setDisplayName(LocalizedText.english(name))
          .build();
      var twice = new Twice(node);
      node.setInputArguments(twice.getInputArguments());
      node.setOutputArguments(twice.getOutputArguments());
      node.setInvocationHandler(twice);
      getNodeManager().addNode(node);
      tank.addComponent(node);
    }

    @Override
    public void onDataItemsCreated(List<DataItem> items) {
      subscriptions.onDataItemsCreated(items);
    }

    @Override
    public void onDataItemsModified(List<DataItem> items) {
      subscriptions.onDataItemsModified(items);
    }

    @Override
    public void onDataItemsDeleted(List<DataItem> items) {
      subscriptions.onDataItemsDeleted(items);
    }

    @Override
    public void onMonitoringModeChanged(List<MonitoredItem> items) {
      subscriptions.onMonitoringModeChanged(items);
    }
  }

  /** A method that doubles a number. */
  private static final class Twice extends AbstractMethodInvocationHandler {
    private static final Argument[] NUMBER = {
      new Argument("Value", NodeIds.Double, -1, null, LocalizedText.english("a number"))
    };

    Twice(UaMethodNode node) {
      super(node);
    }

    @Override
    public Argument[] getInputArguments() {
      return NUMBER;
    }

    @Override
    public Argument[] getOutputArguments() {
      return NUMBER;
    }

    @Override
    protected Variant[] invoke(InvocationContext context, Variant[] inputs) {
      return new Variant[] {Variant.ofDouble(2.0 * (Double) inputs[0].getValue())};
    }
  }

  /** The one certificate of the server, and whom it trusts. */
  private record Group(Pki pki, MemoryCertificateQuarantine quarantine) implements CertificateGroup {
    private static final NodeId TYPE = NodeIds.RsaSha256ApplicationCertificateType;

    @Override
    public NodeId getCertificateGroupId() {
      return NodeIds.ServerConfiguration_CertificateGroups_DefaultApplicationGroup;
    }

    @Override
    public List<NodeId> getSupportedCertificateTypeIds() {
      return List.of(TYPE);
    }

    @Override
    public TrustListManager getTrustListManager() {
      return pki.trusted;
    }

    @Override
    public List<Entry> getCertificateEntries() {
      return List.of(new Entry(getCertificateGroupId(), TYPE, new X509Certificate[] {pki.certificate}));
    }

    @Override
    public Optional<KeyPair> getKeyPair(NodeId type) {
      return Optional.of(pki.keys);
    }

    @Override
    public Optional<X509Certificate[]> getCertificateChain(NodeId type) {
      return Optional.of(new X509Certificate[] {pki.certificate});
    }

    @Override
    public void updateCertificate(NodeId type, KeyPair keys, X509Certificate[] chain) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CertificateFactory getCertificateFactory() {
      return null;
    }

    @Override
    public CertificateValidator getCertificateValidator() {
      return new DefaultServerCertificateValidator(pki.trusted, quarantine);
    }
  }
}

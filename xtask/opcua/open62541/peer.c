/* open62541 as a server and as a client, for `cargo xtask opcua`: see xtask/src/opcua/puppet.rs for what it is told and what it answers.
 *
 * peer server PKI PORT USER PASSWORD
 * peer client PKI
 */

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <open62541/client.h>
#include <open62541/client_config_default.h>
#include <open62541/client_highlevel.h>
#include <open62541/client_subscriptions.h>
#include <open62541/plugin/accesscontrol_default.h>
#include <open62541/plugin/log_stdout.h>
#include <open62541/server.h>
#include <open62541/server_config_default.h>

#define NAMESPACE "urn:durward:peer"
#define AUTHORITY "urn:durward:opcua:authority"
#define BASIC256SHA256 "http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256"
#define JWT "http://opcfoundation.org/UA/UserToken#JWT"
#define TRUSTED_MAX 16
#define WORDS_MAX 16
#define LINE_MAX_BYTES 65536
#define VALUES_MAX 64

/* Certificates */

struct pki {
    UA_ByteString certificate, key, trusted[TRUSTED_MAX];
    size_t trusted_count;
};

static UA_ByteString read_file(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if(!file) {
        perror(path);
        exit(2);
    }
    char bytes[16384];
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    UA_ByteString copy;
    UA_ByteString_allocBuffer(&copy, length);
    memcpy(copy.data, bytes, length);
    return copy;
}

static struct pki read_pki(const char *folder) {
    struct pki pki = {.trusted_count = 0};
    pki.certificate = read_file(folder, "own/certs/application.der");
    pki.key = read_file(folder, "own/private/application.der");
    char trusted[1024];
    snprintf(trusted, sizeof trusted, "%s/trusted/certs", folder);
    DIR *directory = opendir(trusted);
    for(struct dirent *entry; directory && (entry = readdir(directory));)
        if(entry->d_name[0] != '.' && pki.trusted_count < TRUSTED_MAX)
            pki.trusted[pki.trusted_count++] = read_file(trusted, entry->d_name);
    if(directory)
        closedir(directory);
    return pki;
}

static UA_String text(const char *chars) { return UA_STRING((char *)(uintptr_t)chars); }

/* The server */

static UA_NodeId node(const char *id) { return UA_NODEID_STRING(2, (char *)(uintptr_t)id); }

static void add_variable(UA_Server *server, const char *id, const char *name, UA_Byte access) {
    UA_VariableAttributes attributes = UA_VariableAttributes_default;
    UA_Double value = 1.0;
    UA_Variant_setScalar(&attributes.value, &value, &UA_TYPES[UA_TYPES_DOUBLE]);
    attributes.dataType = UA_TYPES[UA_TYPES_DOUBLE].typeId;
    attributes.accessLevel = access;
    attributes.displayName = UA_LOCALIZEDTEXT("", (char *)(uintptr_t)name);
    UA_Server_addVariableNode(server, node(id), node("Tank"), UA_NS0ID(HASCOMPONENT),
                              UA_QUALIFIEDNAME(2, (char *)(uintptr_t)name), UA_NS0ID(BASEDATAVARIABLETYPE),
                              attributes, NULL, NULL);
}

static UA_StatusCode twice(UA_Server *server, const UA_NodeId *session, void *session_context,
                           const UA_NodeId *method, void *method_context, const UA_NodeId *object,
                           void *object_context, size_t inputs, const UA_Variant *input, size_t outputs,
                           UA_Variant *output) {
    UA_Double result = 2.0 * *(UA_Double *)input[0].data;
    return UA_Variant_setScalarCopy(output, &result, &UA_TYPES[UA_TYPES_DOUBLE]);
}

static void add_method(UA_Server *server, const char *id, const char *name) {
    UA_Argument argument;
    UA_Argument_init(&argument);
    argument.name = text("Value");
    argument.dataType = UA_TYPES[UA_TYPES_DOUBLE].typeId;
    argument.valueRank = UA_VALUERANK_SCALAR;
    UA_MethodAttributes attributes = UA_MethodAttributes_default;
    attributes.executable = attributes.userExecutable = true;
    UA_Server_addMethodNode(server, node(id), node("Tank"), UA_NS0ID(HASCOMPONENT),
                            UA_QUALIFIEDNAME(2, (char *)(uintptr_t)name), attributes, twice, 1, &argument, 1,
                            &argument, NULL, NULL);
}

static void move_level(UA_Server *server, void *context) {
    static UA_Double level;
    level += 1.0;
    UA_Variant value;
    UA_Variant_setScalar(&value, &level, &UA_TYPES[UA_TYPES_DOUBLE]);
    UA_Server_writeValue(server, node("Tank.Level"), value);
}

static int serve(const char *folder, int port, const char *user, const char *password) {
    struct pki pki = read_pki(folder);
    UA_Server *server = UA_Server_new();
    UA_ServerConfig *config = UA_Server_getConfig(server);
    UA_StatusCode status = UA_ServerConfig_setDefaultWithSecurityPolicies(
        config, (UA_UInt16)port, &pki.certificate, &pki.key, pki.trusted, pki.trusted_count, NULL, 0, NULL, 0);
    UA_String_clear(&config->applicationDescription.applicationUri);
    config->applicationDescription.applicationUri = UA_STRING_ALLOC("urn:durward:peer:open62541:server");
    UA_UsernamePasswordLogin login = {text(user), text(password)};
    UA_String policy = text(BASIC256SHA256);
    status |= UA_AccessControl_default(config, false, &policy, 1, &login);
    UA_Server_addNamespace(server, NAMESPACE);
    UA_ObjectAttributes tank = UA_ObjectAttributes_default;
    tank.displayName = UA_LOCALIZEDTEXT("", "Tank");
    UA_Server_addObjectNode(server, node("Tank"), UA_NS0ID(OBJECTSFOLDER), UA_NS0ID(ORGANIZES),
                            UA_QUALIFIEDNAME(2, "Tank"), UA_NS0ID(BASEOBJECTTYPE), tank, NULL, NULL);
    add_variable(server, "Tank.Level", "Level", UA_ACCESSLEVELMASK_READ);
    add_variable(server, "Tank.SetPoint", "SetPoint", UA_ACCESSLEVELMASK_READ | UA_ACCESSLEVELMASK_WRITE);
    add_variable(server, "Tank.Secret", "Secret", UA_ACCESSLEVELMASK_READ | UA_ACCESSLEVELMASK_WRITE);
    add_method(server, "Tank.Double", "Double");
    add_method(server, "Tank.Forbidden", "Forbidden");
    UA_Server_addRepeatedCallback(server, move_level, NULL, 100.0, NULL);
    status |= UA_Server_run_startup(server);
    if(status != UA_STATUSCODE_GOOD) {
        fprintf(stderr, "%s\n", UA_StatusCode_name(status));
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    for(;;)
        UA_Server_run_iterate(server, true);
}

/* The client */

static const char *pki_folder;
static UA_Client *session;
static char values[VALUES_MAX][64];
static size_t values_first, values_count;

static void no(UA_StatusCode status) { printf("no\t%s\n", UA_StatusCode_name(status)); }

static void done(UA_StatusCode status) {
    if(status == UA_STATUSCODE_GOOD)
        printf("ok\n");
    else
        no(status);
}

/* A word for a value: doubles as numbers, texts as they are. */
static void print_value(char *word, size_t size, const UA_Variant *value) {
    if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_DOUBLE])) {
        snprintf(word, size, "%.9g", *(UA_Double *)value->data);
    } else if(UA_Variant_hasScalarType(value, &UA_TYPES[UA_TYPES_STRING])) {
        UA_String *string = (UA_String *)value->data;
        snprintf(word, size, "%.*s", (int)string->length, string->data);
    } else {
        snprintf(word, size, "value");
    }
}

static UA_StatusCode set_user(UA_ClientConfig *config, char **who, size_t count) {
    UA_ExtensionObject_clear(&config->userIdentityToken);
    if(!strcmp(who[0], "user") && count == 3)
        return UA_ClientConfig_setAuthenticationUsername(config, who[1], who[2]);
    if(!strcmp(who[0], "token") && count == 2) {
        UA_IssuedIdentityToken *token = UA_IssuedIdentityToken_new();
        UA_String data = text(who[1]);
        UA_ByteString_copy(&data, &token->tokenData);
        UA_ExtensionObject_setValue(&config->userIdentityToken, token, &UA_TYPES[UA_TYPES_ISSUEDIDENTITYTOKEN]);
    }
    return UA_STATUSCODE_GOOD;
}

static UA_Client *new_client(void) {
    struct pki pki = read_pki(pki_folder);
    UA_Client *client = UA_Client_new();
    UA_ClientConfig *config = UA_Client_getConfig(client);
    UA_ClientConfig_setDefaultEncryption(config, pki.certificate, pki.key, pki.trusted, pki.trusted_count, NULL, 0);
    UA_String_clear(&config->clientDescription.applicationUri);
    config->clientDescription.applicationUri = UA_STRING_ALLOC("urn:durward:peer:open62541");
    config->securityMode = UA_MESSAGESECURITYMODE_SIGNANDENCRYPT;
    config->securityPolicyUri = UA_STRING_ALLOC(BASIC256SHA256);
    config->secureChannelLifeTime = 60000;
    config->timeout = 15000;
    config->noNewSession = true;
    return client;
}

static void close_session(void) {
    if(!session)
        return;
    UA_Client_disconnect(session);
    UA_Client_delete(session);
    session = NULL;
    values_count = 0;
}

static void open_session(char **words, size_t count) {
    close_session();
    UA_Client *client = new_client();
    UA_StatusCode status = set_user(UA_Client_getConfig(client), words + 2, count - 2);
    if(status == UA_STATUSCODE_GOOD)
        status = UA_Client_connect(client, words[1]);
    if(status == UA_STATUSCODE_GOOD)
        session = client;
    else
        UA_Client_delete(client);
    done(status);
}

static void renew(char **words, size_t count) {
    UA_StatusCode status = set_user(UA_Client_getConfig(session), words + 1, count - 1);
    done(status == UA_STATUSCODE_GOOD ? UA_Client_activateCurrentSession(session) : status);
}

static void issuer(const char *url) {
    UA_Client *client = new_client();
    UA_EndpointDescription *endpoints = NULL;
    size_t count = 0;
    UA_StatusCode status = UA_Client_getEndpoints(client, url, &count, &endpoints);
    UA_String jwt = text(JWT), *found = NULL;
    for(size_t i = 0; i < count && !found; i++)
        for(size_t j = 0; j < endpoints[i].userIdentityTokensSize && !found; j++)
            if(UA_String_equal(&endpoints[i].userIdentityTokens[j].issuedTokenType, &jwt))
                found = &endpoints[i].userIdentityTokens[j].issuerEndpointUrl;
    if(found)
        printf("ok\t%.*s\n", (int)found->length, found->data);
    else
        no(status == UA_STATUSCODE_GOOD ? UA_STATUSCODE_BADNOTFOUND : status);
    UA_Array_delete(endpoints, count, &UA_TYPES[UA_TYPES_ENDPOINTDESCRIPTION]);
    UA_Client_delete(client);
}

/* RequestAccessToken of the authorization service, with a session of its own. */
static void request_token(char **words) {
    UA_Client *client = new_client();
    UA_StatusCode status = UA_Client_connectUsername(client, words[1], words[2], words[3]);
    UA_String uri = text(AUTHORITY);
    UA_UInt16 index = 0;
    if(status == UA_STATUSCODE_GOOD)
        status = UA_Client_NamespaceGetIndex(client, &uri, &index);
    if(status == UA_STATUSCODE_GOOD) {
        UA_NodeId service = UA_NODEID_STRING(index, "AuthorizationService");
        UA_NodeId method = UA_NODEID_STRING(index, "AuthorizationService.RequestAccessToken");
        UA_Variant input[2], *output = NULL;
        UA_ExtensionObject none;
        UA_ExtensionObject_init(&none);
        UA_String resource = text(words[4]);
        UA_Variant_setScalar(&input[0], &none, &UA_TYPES[UA_TYPES_EXTENSIONOBJECT]);
        UA_Variant_setScalar(&input[1], &resource, &UA_TYPES[UA_TYPES_STRING]);
        size_t outputs = 0;
        status = UA_Client_call(client, service, method, 2, input, &outputs, &output);
        if(status == UA_STATUSCODE_GOOD && outputs == 1) {
            UA_String *token = (UA_String *)output[0].data;
            printf("ok\t%.*s\n", (int)token->length, token->data);
        } else if(status == UA_STATUSCODE_GOOD) {
            status = UA_STATUSCODE_BADUNEXPECTEDERROR;
        }
        UA_Array_delete(output, outputs, &UA_TYPES[UA_TYPES_VARIANT]);
    }
    if(status != UA_STATUSCODE_GOOD)
        no(status);
    UA_Client_disconnect(client);
    UA_Client_delete(client);
}

static UA_NodeId parse(const char *word) {
    UA_NodeId id;
    if(UA_NodeId_parse(&id, text(word)) != UA_STATUSCODE_GOOD)
        UA_NodeId_init(&id);
    return id;
}

static void read_value(const char *word) {
    UA_Variant value;
    UA_Variant_init(&value);
    UA_StatusCode status = UA_Client_readValueAttribute(session, parse(word), &value);
    char shown[256];
    print_value(shown, sizeof shown, &value);
    if(status == UA_STATUSCODE_GOOD)
        printf("ok\t%s\n", shown);
    else
        no(status);
    UA_Variant_clear(&value);
}

static void write_value(const char *word, const char *number) {
    UA_Variant value;
    UA_Double new = strtod(number, NULL);
    UA_Variant_setScalar(&value, &new, &UA_TYPES[UA_TYPES_DOUBLE]);
    done(UA_Client_writeValueAttribute(session, parse(word), &value));
}

static void call(char **words, size_t count) {
    UA_Double numbers[WORDS_MAX];
    UA_Variant inputs[WORDS_MAX], *outputs = NULL;
    size_t input_count = count - 3, output_count = 0;
    for(size_t i = 0; i < input_count; i++) {
        numbers[i] = strtod(words[3 + i], NULL);
        UA_Variant_setScalar(&inputs[i], &numbers[i], &UA_TYPES[UA_TYPES_DOUBLE]);
    }
    UA_StatusCode status =
        UA_Client_call(session, parse(words[1]), parse(words[2]), input_count, inputs, &output_count, &outputs);
    if(status == UA_STATUSCODE_GOOD) {
        printf("ok");
        for(size_t i = 0; i < output_count; i++) {
            char shown[256];
            print_value(shown, sizeof shown, &outputs[i]);
            printf("\t%s", shown);
        }
        printf("\n");
    } else {
        no(status);
    }
    UA_Array_delete(outputs, output_count, &UA_TYPES[UA_TYPES_VARIANT]);
}

static void browse(const char *word) {
    UA_BrowseDescription description;
    UA_BrowseDescription_init(&description);
    description.nodeId = parse(word);
    description.resultMask = UA_BROWSERESULTMASK_ALL;
    description.browseDirection = UA_BROWSEDIRECTION_FORWARD;
    UA_BrowseResult result = UA_Client_browse(session, NULL, 0, &description);
    if(result.statusCode == UA_STATUSCODE_GOOD) {
        printf("ok");
        for(size_t i = 0; i < result.referencesSize; i++) {
            UA_String name = result.references[i].browseName.name;
            printf("\t%.*s", (int)name.length, name.data);
        }
        printf("\n");
    } else {
        no(result.statusCode);
    }
    UA_BrowseResult_clear(&result);
}

static void keep_value(UA_Client *client, UA_UInt32 subscription, void *subscription_context, UA_UInt32 item,
                       void *context, UA_DataValue *value) {
    char *word = values[(values_first + values_count) % VALUES_MAX];
    if(values_count < VALUES_MAX)
        values_count++;
    if(value->hasStatus && value->status != UA_STATUSCODE_GOOD)
        snprintf(word, sizeof values[0], "%s", UA_StatusCode_name(value->status));
    else
        print_value(word, sizeof values[0], &value->value);
}

static void watch(const char *word) {
    static UA_UInt32 last;
    if(last)
        UA_Client_Subscriptions_deleteSingle(session, last);
    values_count = 0;
    UA_CreateSubscriptionRequest request = UA_CreateSubscriptionRequest_default();
    request.requestedPublishingInterval = 100.0;
    UA_CreateSubscriptionResponse response = UA_Client_Subscriptions_create(session, request, NULL, NULL, NULL);
    if(response.responseHeader.serviceResult != UA_STATUSCODE_GOOD) {
        no(response.responseHeader.serviceResult);
        return;
    }
    last = response.subscriptionId;
    UA_MonitoredItemCreateRequest item = UA_MonitoredItemCreateRequest_default(parse(word));
    item.requestedParameters.samplingInterval = 100.0;
    UA_MonitoredItemCreateResult result = UA_Client_MonitoredItems_createDataChange(
        session, last, UA_TIMESTAMPSTORETURN_BOTH, item, NULL, keep_value, NULL);
    done(result.statusCode);
}

static void next(const char *ms) {
    UA_DateTime end = UA_DateTime_nowMonotonic() + atoi(ms) * UA_DATETIME_MSEC;
    while(session && !values_count && UA_DateTime_nowMonotonic() < end) {
        UA_StatusCode status = UA_Client_run_iterate(session, 20);
        if(status != UA_STATUSCODE_GOOD) {
            no(status);
            return;
        }
    }
    if(!values_count) {
        printf("ok\tsilent\n");
        return;
    }
    printf("ok\t%s\n", values[values_first]);
    values_first = (values_first + 1) % VALUES_MAX;
    values_count--;
}

static void obey(char *line) {
    char *words[WORDS_MAX];
    size_t count = 0;
    for(char *word; count < WORDS_MAX && (word = strsep(&line, "\t"));)
        words[count++] = word;
    const char *name = words[0];
    if(!strcmp(name, "issuer") && count == 2)
        issuer(words[1]);
    else if(!strcmp(name, "token") && count == 5)
        request_token(words);
    else if(!strcmp(name, "open") && count >= 3)
        open_session(words, count);
    else if(!session)
        printf("no\tthere is no session\n");
    else if(!strcmp(name, "renew") && count >= 2)
        renew(words, count);
    else if(!strcmp(name, "read") && count == 2)
        read_value(words[1]);
    else if(!strcmp(name, "write") && count == 3)
        write_value(words[1], words[2]);
    else if(!strcmp(name, "call") && count >= 3)
        call(words, count);
    else if(!strcmp(name, "browse") && count == 2)
        browse(words[1]);
    else if(!strcmp(name, "watch") && count == 2)
        watch(words[1]);
    else if(!strcmp(name, "next") && count == 2)
        next(words[1]);
    else if(!strcmp(name, "close")) {
        close_session();
        printf("ok\n");
    } else
        printf("no\t`%s` is not understood\n", name);
    fflush(stdout);
}

/* Lines as they come; in between the stack does its housekeeping. */
static int listen_to_input(void) {
    static char line[LINE_MAX_BYTES];
    size_t length = 0;
    for(;;) {
        struct pollfd input = {.fd = 0, .events = POLLIN};
        if(poll(&input, 1, session ? 20 : 1000) > 0) {
            ssize_t count = read(0, line + length, sizeof line - length - 1);
            if(count <= 0)
                return 0;
            length += (size_t)count;
            for(char *end; (end = memchr(line, '\n', length));) {
                size_t used = (size_t)(end - line) + 1;
                *end = 0;
                obey(line);
                memmove(line, line + used, length - used);
                length -= used;
            }
        }
        if(session)
            UA_Client_run_iterate(session, 0);
    }
}

int main(int count, char **words) {
    if(count == 6 && !strcmp(words[1], "server"))
        return serve(words[2], atoi(words[3]), words[4], words[5]);
    if(count == 3 && !strcmp(words[1], "client")) {
        pki_folder = words[2];
        return listen_to_input();
    }
    fprintf(stderr, "peer server PKI PORT USER PASSWORD | peer client PKI\n");
    return 2;
}

package io.durward.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.durward.Pdp;
import io.durward.QuestionException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.mock.web.MockHttpServletRequest;
import org.springframework.security.authentication.AnonymousAuthenticationToken;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.authority.AuthorityUtils;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

class PdpAuthorizationManagerTest {
    private final Pdp pdp = Pdp.fromTexts(Map.of(
            "a.sapl", "policy \"doctors\" permit \"ROLE_doctor\" in subject.authorities; resource.path == \"/records/\" + resource.variables.number;",
            "b.sapl", "policy \"noted\" permit resource.path == \"/noted\"; obligation { \"type\": \"note\" } advice \"hint\"",
            "c.sapl", "policy \"two\" permit resource.path == \"/two\"; obligation \"note\" obligation \"shred\"",
            "d.sapl", "policy \"changed\" permit resource.path == \"/changed\"; transform 7",
            "e.sapl", "policy \"refused\" deny resource.path == \"/refused\"; obligation \"note\"",
            "f.sapl", "policy \"quoted\" permit subject.name == \"a\\\"b\\\\c\\n\"; resource.path == \"/quoted\";"));
    private final List<String> notes = new ArrayList<>();
    private final PdpAuthorizationManager manager = new PdpAuthorizationManager(pdp)
            .withObligations((obligation, request) -> obligation.contains("note") ? () -> notes.add(obligation) : null)
            .withAdvice((advice, request) -> () -> notes.add(advice));

    @AfterEach
    void close() {
        pdp.close();
    }

    private static Authentication user(String name, String... authorities) {
        return UsernamePasswordAuthenticationToken.authenticated(name, null, AuthorityUtils.createAuthorityList(authorities));
    }

    private boolean granted(PdpAuthorizationManager manager, Authentication user, String path, Map<String, String> variables) {
        MockHttpServletRequest request = new MockHttpServletRequest("GET", path);
        request.setServletPath(path);
        return manager.authorize(() -> user, new RequestAuthorizationContext(request, variables)).isGranted();
    }

    private boolean granted(Authentication user, String path) {
        return granted(manager, user, path, Map.of());
    }

    @Test
    void policiesSeeUserMethodPathAndVariables() {
        Map<String, String> seven = Map.of("number", "7");
        assertEquals(true, granted(manager, user("anna", "ROLE_doctor"), "/records/7", seven));
        assertEquals(false, granted(manager, user("anna", "ROLE_doctor"), "/records/8", seven));
        assertEquals(false, granted(manager, user("ben", "ROLE_nurse"), "/records/7", seven));
        assertEquals(true, granted(user("a\"b\\c\n"), "/quoted"));
    }

    @Test
    void nobodyIsNull() {
        Authentication anonymous = new AnonymousAuthenticationToken("key", "anonymous", AuthorityUtils.createAuthorityList("ROLE_doctor"));
        Authentication claimed = UsernamePasswordAuthenticationToken.unauthenticated("anna", "words");
        for (Authentication user : new Authentication[] {null, anonymous, claimed}) {
            assertEquals("null", Questions.subject(user));
            assertEquals(false, granted(manager, user, "/records/7", Map.of("number", "7")));
        }
    }

    @Test
    void obligationsAreMetOrNobodyGetsIn() {
        assertEquals(true, granted(null, "/noted"));
        assertEquals(List.of("{\"type\":\"note\"}", "\"hint\""), notes);
        assertEquals(false, granted(new PdpAuthorizationManager(pdp), null, "/noted", Map.of()));
        notes.clear();
        // One of two has nobody: none is run.
        assertEquals(false, granted(null, "/two"));
        assertEquals(false, granted(null, "/changed"));
        assertEquals(List.of(), notes);
        // Those of a denial are met too.
        assertEquals(false, granted(null, "/refused"));
        assertEquals(List.of("\"note\""), notes);
    }

    @Test
    void whatGoesWrongIsThrown() {
        PdpAuthorizationManager broken = manager.withQuestion((user, context) -> "no JSON");
        assertThrows(QuestionException.class, () -> granted(broken, null, "/noted", Map.of()));
        assertThrows(IllegalArgumentException.class, () -> granted(user("\ud800"), "/noted"));
        PdpAuthorizationManager unadvised = manager.withAdvice((advice, request) -> {
            throw new IllegalStateException("not followed");
        });
        assertEquals(true, granted(unadvised, null, "/noted", Map.of()));
        PdpAuthorizationManager throwing = manager.withObligations((obligation, request) -> () -> {
            throw new IllegalStateException("full");
        });
        assertThrows(IllegalStateException.class, () -> granted(throwing, null, "/noted", Map.of()));
        pdp.close();
        assertThrows(IllegalStateException.class, () -> granted(null, "/noted"));
    }
}

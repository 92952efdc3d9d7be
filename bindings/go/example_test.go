package durward_test

import (
	"fmt"

	"durward.io/durward"
)

func Example() {
	pdp, err := durward.FromTexts(map[string]string{
		"doctors.sapl": `policy "doctors" permit subject.role == "doctor"; obligation { "log": resource }`,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pdp.Close()
	decision, err := pdp.Decide(durward.Subscription{
		Subject: map[string]any{"role": "doctor"}, Action: "read", Resource: "record",
	})
	if err != nil {
		fmt.Println(err) // a deny
		return
	}
	// Grant access only if the outcome is Permit and you meet the obligations.
	fmt.Printf("%v %s\n", decision.Outcome, decision.Obligations)
	// Output: PERMIT [{"log":"record"}]
}

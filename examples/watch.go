// Watches the scheduled events of this VM: prepares, approves, recovers, and goes on watching. Usage: go run watch.go
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const service = "http://169.254.169.254/metadata"
const events = service + "/scheduledevents?api-version=2020-07-01"

type answer struct {
	Compute struct{ Name string }
	Events  []struct {
		EventId, EventType, EventStatus, NotBefore string
		Resources                                  []string
	}
}

var client = http.Client{Transport: &http.Transport{}, Timeout: 2 * time.Minute} // no proxy; the first answer is slow
var prepared, approved = map[string]bool{}, map[string]bool{}

func ask(method, url, body string) (told answer, err error) {
	request, _ := http.NewRequest(method, url, strings.NewReader(body))
	request.Header.Set("Metadata", "true")
	response, err := client.Do(request)
	if err != nil {
		return told, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, 1<<22))
	isRead := json.Unmarshal(raw, &told) == nil && (told.Events != nil || told.Compute.Name != "") || method == "POST"
	if err != nil || response.StatusCode != http.StatusOK || len(raw) > 0 && !isRead { // no body at all means no events
		err = fmt.Errorf("%s %s: %.80q", method, response.Status, raw)
	}
	return told, err
}

func look(me string, document answer) (err error) {
	current := map[string]bool{}
	for _, one := range document.Events {
		id, names := one.EventId, "|"+strings.Join(one.Resources, "|")+"|"
		current[id] = strings.Contains(strings.ToLower(names), "|"+strings.ToLower(me)+"|")
		if current[id] && !prepared[id] { // Put your own here: leave the load balancer, hand over, save.
			fmt.Printf("preparing: %s of %s, not before %s\n", one.EventType, id, one.NotBefore)
			prepared[id] = true
		}
		if current[id] && one.EventStatus == "Scheduled" && !approved[id] { // what was Started before had no notice
			_, err = ask("POST", events, `{"StartRequests":[{"EventId":"`+id+`"}]}`)
			approved[id] = err == nil
		}
	}
	for id := range prepared {
		if !current[id] { // gone from the list: done or cancelled
			fmt.Printf("recovering: %s is over\n", id)
			delete(prepared, id)
		}
	}
	return err
}

func main() {
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for me, url := "", service+"/instance?api-version=2021-02-01"; ; time.Sleep(time.Second) {
		told, err := ask("GET", url, "")
		if told.Compute.Name != "" {
			me, url = told.Compute.Name, events
		} else if me != "" && err == nil {
			client.Timeout, err = 5*time.Second, look(me, told)
		}
		if err != nil {
			fmt.Println(err) // busy, updating or away: 410, 429 and 5xx pass; what was known stays known
		}
	}
}

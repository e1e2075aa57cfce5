// The metadata GET as a minimal Go net/http server, to compare CPU per request with.
// It checks what the protocol demands (path, Metadata header, api-version, If-None-Match) and writes a fixed document.
// It knows no callers, no rate limit and no events.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
)

const path = "/metadata/scheduledevents"

var versions = map[string]bool{
	"2017-03-01": true, "2017-08-01": true, "2017-11-01": true, "2019-01-01": true,
	"2019-04-01": true, "2019-08-01": true, "2020-07-01": true,
}

type metadata struct {
	body        []byte
	tag         string
	contentType string
	server      string
}

func (m *metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Server", m.server)
	switch {
	case r.Header.Get("Metadata") != "true":
		http.Error(w, `{"error":"Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
	case r.URL.Path != path:
		http.Error(w, `{"error":"Not found"}`, http.StatusNotFound)
	case r.Method != http.MethodGet:
		http.Error(w, `{"error":"Method not allowed"}`, http.StatusMethodNotAllowed)
	case !versions[r.URL.Query().Get("api-version")]:
		http.Error(w, `{"error":"Bad request. api-version is invalid"}`, http.StatusBadRequest)
	case r.Header.Get("If-None-Match") == m.tag:
		header.Set("Etag", m.tag)
		w.WriteHeader(http.StatusNotModified)
	default:
		header.Set("Content-Type", m.contentType)
		header.Set("Etag", m.tag)
		w.Write(m.body)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen")
	body := flag.String("body", "", "the document")
	tag := flag.String("etag", "", "its tag")
	contentType := flag.String("content-type", "application/json; charset=utf-8", "its type")
	server := flag.String("server", "notbefore", "the Server header")
	flag.Parse()
	fmt.Println("serving on", *listen)
	log.Fatal(http.ListenAndServe(*listen, &metadata{[]byte(*body), *tag, *contentType, *server}))
}

// Watches the scheduled events of this VM: prepares, approves, recovers, and goes on watching.
// Build: mcs -r:Newtonsoft.Json.dll Watch.cs     Usage: Watch.exe [VM]
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net;
using System.Threading;
using Newtonsoft.Json;
using Newtonsoft.Json.Linq;

class MetadataClient : WebClient
{
    // The first answer enables the service, which may take two minutes; later ones are quick.
    public int LimitMs = 120000;

    protected override WebRequest GetWebRequest(Uri address)
    {
        var request = (HttpWebRequest)base.GetWebRequest(address);
        request.Headers["Metadata"] = "true"; // on every request, the POST too
        request.Proxy = null;                 // the endpoint is on the VM's own link
        request.AllowAutoRedirect = false;
        request.Timeout = LimitMs;
        return request;
    }

    protected override WebResponse GetWebResponse(WebRequest request)
    {
        var response = (HttpWebResponse)base.GetWebResponse(request);
        if (response.StatusCode == HttpStatusCode.OK) return response;
        throw new WebException("a redirect is no answer: " + response.StatusCode);
    }
}

static class Watch
{
    const string Service = "http://169.254.169.254/metadata", Events = Service + "/scheduledevents?api-version=2020-07-01";
    static readonly MetadataClient Client = new MetadataClient();
    static readonly HashSet<string> Prepared = new HashSet<string>(), Approved = new HashSet<string>();

    // What the VM does about an event. Put your own here: leave the load balancer, hand over, save.
    static void Prepare(JToken one) { Console.WriteLine("preparing: {0} of {1}, not before {2}", one["EventType"], one["EventId"], one["NotBefore"]); }
    static void Recover(string id) { Console.WriteLine("recovering: {0} is over", id); }

    static void Approve(string id)
    {
        Client.UploadString(Events, JsonConvert.SerializeObject(new { StartRequests = new[] { new { EventId = id } } }));
        Console.WriteLine("approved: {0}", id);
    }

    static void Look(string me)
    {
        string json = Client.DownloadString(Events);
        JToken all = json.Trim() == "" ? new JArray() : JObject.Parse(json)["Events"]; // no body at all means no events
        if (all == null) throw new FormatException("this is no document of events");
        Client.LimitMs = 5000;
        var mine = all.Where(one => one["Resources"].Any(name => ((string)name).Equals(me, StringComparison.OrdinalIgnoreCase))).ToList();
        foreach (JToken one in mine)
        {
            string id = (string)one["EventId"];
            if (Prepared.Add(id)) Prepare(one); // It may be Started already: then there was no notice.
            if ((string)one["EventStatus"] != "Scheduled" || Approved.Contains(id)) continue;
            Approve(id); // only what concerns this VM, and only once it is ready
            Approved.Add(id);
        }
        foreach (string gone in Prepared.Where(id => mine.All(one => (string)one["EventId"] != id)).ToList())
            if (Prepared.Remove(gone)) Recover(gone); // no longer in the list: done or cancelled
    }

    static void Main(string[] args)
    {
        for (string me = args.Length > 0 ? args[0] : ""; ; Thread.Sleep(1000))
            try
            {
                if (string.IsNullOrEmpty(me)) Console.WriteLine("watching as {0}", me = (string)JObject.Parse(Client.DownloadString(Service + "/instance?api-version=2021-02-01"))["compute"]["name"]);
                if (!string.IsNullOrEmpty(me)) Look(me);
            }
            catch (Exception trouble) { Console.Error.WriteLine(trouble.Message); } // 410, 429 and 5xx pass; what was known stays known
    }
}

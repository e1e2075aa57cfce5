// Watches the scheduled events of this VM: prepares, approves, recovers, and goes on watching. Node 18 or newer.
// Usage: node watch.mjs [VM]     the endpoint is asked for the VM's name when it is left out

const service = "http://169.254.169.254/metadata";
const events = `${service}/scheduledevents?api-version=2020-07-01`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let limitMs = 120_000; // the first answer enables the service, which may take two minutes; later ones are quick

// What the VM does about an event. Put your own here: leave the load balancer, hand over, save.
const prepare = (one) => console.log(`preparing: ${one.EventType} of ${one.EventId}, not before ${one.NotBefore || "now"}`);
const recover = (id) => console.log(`recovering: ${id} is over`);

// fetch uses no proxy by itself; a redirect is an error.
async function ask(url, body) {
  const answer = await fetch(url, {
    method: body ? "POST" : "GET",
    headers: { Metadata: "true" },
    body: body && JSON.stringify(body),
    redirect: "error",
    signal: AbortSignal.timeout(limitMs),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
  return text.trim() && !body ? JSON.parse(text) : { Events: [] }; // no body at all means no events
}

const prepared = new Set();
const approved = new Set();

async function look(me) {
  const document = await ask(events);
  if (!Array.isArray(document.Events)) throw new Error("this is no document of events");
  limitMs = 5_000;
  // Names are compared in any letter case.
  const concerns = (one) => one.Resources.some((name) => name.toLowerCase() === me.toLowerCase());
  const mine = document.Events.filter(concerns);
  for (const one of mine) {
    if (!prepared.has(one.EventId)) {
      await prepare(one); // It may be Started already: then there was no notice.
      prepared.add(one.EventId);
    }
    // Only what concerns this VM, and only once it is ready.
    if (one.EventStatus === "Scheduled" && !approved.has(one.EventId)) {
      await ask(events, { StartRequests: [{ EventId: one.EventId }] });
      approved.add(one.EventId);
      console.log(`approved: ${one.EventId}`);
    }
  }
  for (const id of prepared) {
    if (mine.some((one) => one.EventId === id)) continue;
    await recover(id); // gone from the list: done or cancelled
    prepared.delete(id);
  }
}

let me = process.argv[2] ?? process.env.NOTBEFORE_VM;
for (; ; await sleep(1000)) {
  try {
    if (!me) {
      me = (await ask(`${service}/instance?api-version=2021-02-01`)).compute?.name;
      if (!me) throw new Error("the endpoint does not say who this VM is");
      console.log(`watching as ${me}`);
    }
    await look(me);
  } catch (trouble) {
    console.error(trouble.cause ?? trouble.message); // 410, 429 and 5xx pass; what was known stays known
  }
}

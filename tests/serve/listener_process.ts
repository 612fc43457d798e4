/** The process of the listener's tests: a listener over an app of a few routes. */
import { listen, type Listenable } from "../../src/listen/listener.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import { sleep } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const app: Listenable = {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/throw":
        throw new Error("the secret of the house");
      case "/slow":
        console.log("slow request");
        await sleep(300);
        return new Response("slow but whole");
      case "/stream":
        return new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)) }));
      default:
        return new Response(String(Deno.pid));
    }
  },
  drain: () => console.log("drained"),
  close: () => Promise.resolve(console.log("closed")),
};

const server = listen(app, {
  port: Number(Deno.args[0] ?? 0),
  reusePort: Deno.args[1] === "reusePort",
  stopDeadlineMs: 1_000,
  onListen: ({ url }) => console.log(`url ${url}`),
}, systemRuntime(consoleObserver()));
Deno.addSignalListener("SIGTERM", () => server.stop());
await server.finished;
console.log("finished");
Deno.exit(0);

/** The process of the tests of `serveApp`: an app with an endless stream, and with forgotten errors. */
import type { Listenable } from "../../src/listen/listener.ts";
import { consoleObserver } from "../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { serveApp } from "../../src/app/serve.ts";

const app: Listenable = {
  fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/forgotten") Promise.reject(new Error("an unhandled rejection"));
    if (path === "/timer") {
      setTimeout(() => {
        // Printed when the timer has run: the throw has reached the process by the next request.
        console.log("threw");
        throw new Error("an error in a timer");
      });
    }
    const endless = new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)) });
    return Promise.resolve(new Response(path === "/stream" ? endless : "ok"));
  },
  announceStop: () => console.log("announced"),
  drain: () => console.log("drained"),
  hangUp: () => console.log("hung up"),
  close: () => Promise.resolve(),
};

await serveApp(app, {
  port: 0,
  stopDeadlineMs: Number(Deno.args[0]),
  onListen: ({ url }) => console.log(`url ${url}`),
}, systemRuntime(consoleObserver()));
// A timer that is never cleared, as in many programs.
setInterval(() => {}, 60_000);

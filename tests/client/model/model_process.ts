/** The service of the model in a process of its own: to be killed. */
import { openModelApp } from "./model_service.ts";

const [url = "", port = "0"] = Deno.args;
const { app } = await openModelApp(url);
Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, (request, info) => app.fetch(request, info));

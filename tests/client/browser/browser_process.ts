/** The service of the pages in a process of its own: to be killed. */
import { openBrowserApp, withPage } from "./browser_service.ts";

const [url = "", port = "0"] = Deno.args;
const { app } = await openBrowserApp(url);
Deno.serve({
  port: Number(port),
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, withPage(app));

/**
 * The page of the dashboard, which `deno task dashboard-bundle` writes into the service.
 *
 * @module
 */
import { render } from "preact";
import { App } from "./shell/app.tsx";

const place = document.getElementById("app");
if (place !== null) render(<App />, place);

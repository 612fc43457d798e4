import process from "node:process";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The browser loads the page from the service. Only the news of saved files come from this port.
const clientPort = Number(process.env.VITE_PORT) || undefined;

export default defineConfig({
  plugins: [react()],
  server: { hmr: { clientPort } },
});

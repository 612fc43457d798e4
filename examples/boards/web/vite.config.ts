import { svelte } from "@sveltejs/vite-plugin-svelte";
import react from "@vitejs/plugin-react";
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

/** The service, to which the development server passes the requests of the pages. */
const service = { target: "http://127.0.0.1:8000" };

export default defineConfig({
  plugins: [react(), vue(), svelte()],
  server: { proxy: { "/api": service, "/__service": service } },
  build: {
    rollupOptions: {
      input: ["react", "vue", "svelte", "tanstack"].map((name) =>
        `${name}/index.html`
      ),
    },
  },
});

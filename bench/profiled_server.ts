/** The server of `profile_bench.ts`: `http_server.ts` that writes its CPU profile at SIGTERM. */
Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
await import("./http_server.ts");

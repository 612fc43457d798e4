/**
 * An idle server in a separate process. The waits of its clients during an attack are those that
 * the machine causes, because the database and the attackers use the same processors.
 */
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, () => new Response(`{"status":"ok"}`, { headers: { "content-type": "application/json" } }));

/**
 * A server with nothing to do, in a process of its own: what its clients wait during an attack is
 * what the machine makes them wait, whose processors the database and the attackers share.
 */
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(`port ${port}`),
}, () => new Response(`{"status":"ok"}`, { headers: { "content-type": "application/json" } }));

/**
 * Loaded before an example, which listens where its user expects it: in a test it listens at
 * `TEST_PORT` instead, 0 for a free one, because another program may have its port.
 */
const { serve } = Deno;

function serveAtPort(options: Deno.ServeTcpOptions, handler: Deno.ServeHandler): Deno.HttpServer {
  return serve({ ...options, port: Number(Deno.env.get("TEST_PORT")) }, handler);
}

Object.defineProperty(Deno, "serve", { value: serveAtPort });

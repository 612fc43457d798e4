/**
 * Returns true if an address is a loopback address, which only this machine can reach. Host names
 * are excluded, because any name may resolve to any address.
 */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

import { assertEquals } from "@std/assert";
import { addressGroup, clientAddress } from "../../src/guard/client_address.ts";

function check(header: string | null, proxies: number, expected: string | null): void {
  const headers = new Headers(header === null ? {} : { "x-forwarded-for": header });
  assertEquals(clientAddress(headers, "10.0.0.1", proxies), expected, `${header} ${proxies}`);
}

Deno.test("without own proxies the address is the socket's, whatever the header says", () => {
  check("203.0.113.7", 0, "10.0.0.1");
  check(null, 0, "10.0.0.1");
});

Deno.test("with n proxies the address is the n-th from the right, whatever is further left", () => {
  check("203.0.113.7", 1, "203.0.113.7");
  check("1.1.1.1, 2.2.2.2, 203.0.113.7", 1, "203.0.113.7");
  check("1.1.1.1,203.0.113.7 ,10.1.1.1", 2, "203.0.113.7");
  check("203.0.113.7:5123", 1, "203.0.113.7");
  check("[2001:db8::1]:443", 1, "2001:db8::1");
  check("2001:db8::1", 1, "2001:db8::1");
});

Deno.test("a header that is malformed or too short leaves the socket's address", () => {
  for (
    const header of ["", "unknown", "_hidden", "1.2.3", "256.1.1.1", "01.2.3.4", "1:2", "a::b::c"]
  ) {
    check(header, 1, "10.0.0.1");
  }
  check("203.0.113.7", 2, "10.0.0.1");
  check("203.0.113.7, ", 1, "10.0.0.1");
  check(null, 1, "10.0.0.1");
});

Deno.test("IPv6 counts by /64 in every spelling, and IPv4-mapped as IPv4", () => {
  const same = [
    "2001:db8:1:2::1",
    "2001:db8:1:2:ffff:ffff:ffff:ffff",
    "2001:0DB8:0001:0002:0:0:0:9",
    "2001:db8:1:2::%eth0",
    "2001:db8:1:2::192.0.2.9",
  ];
  assertEquals(new Set(same.map(addressGroup)), new Set(["2001:db8:1:2::/64"]));
  assertEquals(addressGroup("2001:db8:1:3::1"), "2001:db8:1:3::/64");
  assertEquals(addressGroup("::1"), "0:0:0:0::/64");
  assertEquals(addressGroup("::ffff:192.0.2.9"), "192.0.2.9");
  assertEquals(addressGroup("::ffff:c000:209"), "192.0.2.9");
  assertEquals(addressGroup("192.0.2.9"), "192.0.2.9");
});

Deno.test("all texts that are no address are one caller", () => {
  const texts = [
    null,
    "",
    "localhost",
    "1.2.3.4.5",
    "1:2:3:4:5:6:7:8:9",
    ":::",
    "12345::",
    "::1::",
  ];
  assertEquals(new Set(texts.map(addressGroup)), new Set(["unknown"]));
});

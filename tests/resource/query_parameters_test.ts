import { assertEquals } from "@std/assert";
import { parseQuery } from "../../src/resource/http/query_parameters.ts";
import { problemOf } from "../filter/support.ts";

Deno.test("a misspelt parameter is a 400 that says the right name, not a list of everything", () => {
  const meant = {
    filters: "filter",
    filtr: "filter",
    fliter: "filter",
    where: "filter",
    orderby: "orderBy",
    order_by: "orderBy",
    sort: "orderBy",
    order: "orderBy",
    limt: "limit",
    limits: "limit",
    perPage: "limit",
    per_page: "limit",
    page: "cursor",
    offset: "cursor",
    expand: "include",
    fields: "select",
    TotalCount: "totalCount",
  };
  for (const [name, right] of Object.entries(meant)) {
    assertEquals(
      problemOf(() => parseQuery(`${name}=1`)).message,
      `Unknown parameter "${name}": did you mean "${right}"?`,
    );
    assertEquals(parseQuery(`${name}=1`, false).size, 0);
  }
});

Deno.test("a filter in the notation of PostgREST is a 400, not a list of everything", () => {
  const filters = [
    ...["age=eq.1", "age=not.eq.1", "age=gte.18", "age=lt.13", "age=in.(1,2)", "a=is.null"],
    ...["a=not.is.null", "name=like.*x", "tags=cs.{a}", "or=(a.eq.1,b.eq.2)", "not.and=(a.eq.1)"],
    ...["roles.character=eq.Pumpkin", "roles.or=(a.eq.1,b.eq.2)"],
  ];
  for (const raw of filters) {
    const name = raw.slice(0, raw.indexOf("="));
    assertEquals(
      problemOf(() => parseQuery(raw)).message,
      `Unknown parameter "${name}": write conditions as "filter", for example filter=age>=18`,
    );
    assertEquals(parseQuery(raw, false).size, 0);
  }
  for (const raw of ["ref=in.a.org", "ref=cs.a.org", "ref=lt.a.org", "v=eq", "back=/a?b=eq.1"]) {
    assertEquals(parseQuery(`${raw}&limit=5`).get("limit"), "5", raw);
  }
});

Deno.test("a parameter of another program is ignored", () => {
  const others = [
    "utm_source",
    "v",
    "_",
    "t",
    "token",
    "country",
    "mix",
    "county_code",
    "constructor",
  ];
  for (const name of [...others, "filter".repeat(9)]) {
    assertEquals(parseQuery(`${name}=1&limit=5`).get("limit"), "5", name);
  }
});

Deno.test("an unencoded percent sign is a 400 that says how to write it", () => {
  for (const raw of ["filter=name%=x", "filter=name==50%", "filter=%E0%A4"]) {
    assertEquals(
      problemOf(() => parseQuery(raw)).message,
      "The query holds a malformed percent sequence: write % as %25, and other text as UTF-8",
    );
  }
  assertEquals(parseQuery("filter=name%25=x").get("filter"), "name%=x");
});

Deno.test("a & too many is refused as a part of a filter", () => {
  for (const raw of ["limit=5&", "limit=5&&", "&limit=5", "limit=5&&select=id", "&", "&&"]) {
    assertEquals(parseQuery(raw).get("limit") ?? "5", "5", raw);
  }
  assertEquals(parseQuery("limit=5&&select=id").get("select"), "id");
  for (const raw of ["filter=a==1&&b=gt=2", "filter=a==1&&b", "&&b=1", "filter=a==1&b==2"]) {
    assertEquals(problemOf(() => parseQuery(raw)).status, 400, raw);
  }
});

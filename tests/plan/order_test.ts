import { assertEquals } from "@std/assert";
import { parseOrder, printOrder } from "../../src/plan/order.ts";
import { problemOf, tableOf } from "../filter/support.ts";

const books = tableOf({ id: "integer", rating: "real", secret: "text" });
const maySort = ({ name }: { name: string }) => name !== "secret";

function orderOf(text: string): string {
  return printOrder(
    parseOrder(text, books, { sortable: { has: maySort }, readable: books.columns }),
  );
}

function refusalOf(text: string): string {
  return problemOf(() =>
    parseOrder(text, books, { sortable: { has: maySort }, readable: books.columns })
  ).message;
}

Deno.test("an order has three spellings and ends in the key", () => {
  assertEquals(orderOf("rating"), "rating:asc,id:asc");
  assertEquals(orderOf("-rating"), "rating:desc,id:asc");
  assertEquals(orderOf("rating:desc,id:desc"), "rating:desc,id:desc");
});

Deno.test("the error for the spelling of SQL and other services shows the right one", () => {
  for (const text of ["rating desc", "rating.desc", "rating ASC", "rating:DESC", "-rating:asc"]) {
    assertEquals(
      refusalOf(text),
      `Cannot order by "${text}": write field:asc, field:desc or -field`,
    );
  }
});

Deno.test("unknown and unsortable fields give the same refusal, whatever the spelling", () => {
  for (const ending of ["", ":desc", " desc", ".desc"]) {
    assertEquals(
      refusalOf(`secret${ending}`),
      refusalOf(`absent${ending}`).replace("absent", "secret"),
    );
  }
});

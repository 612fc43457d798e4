import { assertEquals, assertThrows } from "@std/assert";
import { documentText, readDocument, readWithStrings } from "./document_text.ts";

const documents = [
  '{"deep":1,"big":9007199254740993,"name":"9007199254740993"}',
  "[0.1,1e400,0.1234567890123456789,-9007199254740993,true,null]",
  '{"a":{"$number":"12"},"s":"{\\"$number\\": 1}","n":{"$number":{"$number":"x"}}}',
  "9223372036854775807",
];

Deno.test("the editor of documents keeps the numbers that no double has", () => {
  for (const text of documents) assertEquals(documentText(readDocument(text)), text);
  assertEquals(readDocument("[9007199254740993,1.50,100.0]"), [
    { $number: "9007199254740993" },
    1.5,
    100,
  ]);
  assertEquals(readWithStrings('{"id":9007199254740993}'), { id: "9007199254740993" });
  assertThrows(() => readDocument("[01]"), SyntaxError);
});

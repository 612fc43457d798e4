import { assertEquals } from "@std/assert";
import { usersTable } from "../../exports/auth.ts";
import { ada, untilMailed, withAccounts } from "./accounts_support.ts";

const controls = ["\r\n", "\r", "\n", "\0", "\t", "\u007f", "\u0085", "\u2028", "\u2029"];

Deno.test("a name with a line break reached sendMail, where it could begin a header", async () => {
  await withAccounts({ login: { cost: { failed: 0 } } }, async ({ post, mails }) => {
    for (const control of controls) {
      const name = `Ada${control}Bcc: all@example.com`;
      const { status, body } = await post("/api/auth/signup", { ...ada, name });
      assertEquals([status, mails.length], [422, 0], JSON.stringify(control));
      // NUL is refused in every text.
      const message = control === "\0"
        ? "holds a character that is none"
        : "holds a control character";
      assertEquals(body.details.errors, [{ path: "name", message }]);
    }
    const name = "Ада Лавлейс-O’Brien 👩‍💻";
    assertEquals((await post("/api/auth/signup", { ...ada, name })).status, 202);
    await untilMailed(mails, 1);
    assertEquals(mails[0]?.user.name, name);
  });
});

Deno.test("a name that others have written into the table begins no header either", async () => {
  await withAccounts({}, async ({ db, post, mails, signUp }) => {
    await signUp();
    await db.sql`UPDATE ${usersTable} SET ${usersTable.name} = ${"Ada\r\nBcc: all@example.com"}`;
    await post("/api/auth/password/forgot", { email: ada.email });
    await untilMailed(mails, 2);
    assertEquals(mails[1]?.user.name, "Ada  Bcc: all@example.com");
  });
});

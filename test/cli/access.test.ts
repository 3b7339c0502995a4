import { afterAll, beforeAll, expect, test } from "vitest";
import { Stage } from "./stage.ts";

const TOKEN = "a-token-nobody-guesses";

let stage: Stage;
beforeAll(async () => {
	stage = await Stage.open({ FF_API_TOKEN: TOKEN });
});
afterAll(() => stage.close());

test("a token is shown to the server, from a flag or the environment", async () => {
	expect((await stage.run(["submit", "thing", "--token", TOKEN])).code).toBe(0);
	expect((await stage.run(["list"], { env: { FF_TOKEN: TOKEN } })).code).toBe(0);
});

test("without one, or with another, it is refused and never printed", async () => {
	expect(await stage.run(["list"])).toMatchObject({ code: 4, err: expect.stringContaining("unauthorized") });
	const other = "some-other-token-entirely";
	const { code, out, err } = await stage.run(["list", "--token", other]);
	expect(code).toBe(4);
	expect(out + err).not.toContain(other);
});

import { expect, test } from "vitest";
import { entry, Stand, tokenOf, until } from "./stand.ts";

const SIZE = 5_000_000;
const tokens = [entry("ada", "admin", "a"), entry("bob", "admin", "b")];
const batch = `{"items":[${" ".repeat(SIZE)}]}`;

for (const [what, sized] of [
	["says its size", true],
	["does not say its size", false],
] as const) {
	test(`a large body that ${what} and never ends makes room for another tenant's`, async () => {
		const stand = await Stand.open({ pools: { large_bodies: 2 }, tokens });
		const inPool = async () => {
			const { text } = await stand.call("GET", "/metrics", { headers: { connection: "close" } });
			return Number(/pool_waiting\{pool="large_bodies"\} (\d+)/.exec(text)?.[1]);
		};
		const head = `Host: localhost\r\nAuthorization: Bearer ${tokenOf("ada")}\r\nContent-Type: application/json`;
		const open = () => {
			const reader = stand.socket();
			reader.socket.write(`POST /v1/executions/batch HTTP/1.1\r\n${head}\r\n`);
			if (sized) reader.socket.write(`Content-Length: ${SIZE}\r\n\r\n{`);
			else {
				reader.socket.write(`Transfer-Encoding: chunked\r\n\r\n${(SIZE - 1).toString(16)}\r\n`);
				reader.socket.write(batch.slice(0, SIZE - 1));
			}
			return reader;
		};
		const unfinished = [open(), open()];
		await until(async () => (await inPool()) === 2);
		const send = (name: string) => stand.call("POST", "/v1/executions/batch", { token: tokenOf(name), body: batch });
		expect((await send("bob")).status).toBe(200);
		await Promise.race(unfinished.map(({ closed }) => closed));
		const heard = unfinished.map((one) => one.heard()).join("");
		expect(heard).toMatch(/^HTTP\/1.1 429 /);
		expect(heard).toContain("others need the place of this body");
		expect(await inPool()).toBe(1);
		// With one that does not end there is room for another of their own.
		expect((await send("ada")).status).toBe(200);
	});
}

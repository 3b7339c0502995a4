import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runHere } from "./stage.ts";

/** Runs a command that goes on until it is stopped; `stop` when its output fits. */
async function runUntil(
	args: readonly string[],
	pattern: RegExp,
	meanwhile: (url: string) => Promise<void> = async () => {},
	env: Record<string, string> = {},
) {
	const stopping = new AbortController();
	let ready = (_out: string) => {};
	const shown = new Promise<string>((resolve) => (ready = resolve));
	const running = runHere(args, {
		env,
		stop: stopping.signal,
		onOut: (all) => pattern.test(all) && ready(all),
	});
	const out = await Promise.race([shown, running.then(({ out, err }) => expect.fail(`ended early: ${out}${err}`))]);
	await meanwhile(/http:\/\/127\.0\.0\.1:\d+/.exec(out)?.[0] ?? "");
	stopping.abort();
	return running;
}

const here = ["--store", "memory:", "--listen", "127.0.0.1:0"];

test("serve logs one line at the start: store, version, partitions, address", async () => {
	const { code, out } = await runUntil(["serve", ...here, "--partitions", "3", "--json"], /listening/);
	const [line] = out.split("\n");
	expect(JSON.parse(line ?? "")).toMatchObject({
		store: "memory:",
		partitions: 3,
		version: expect.stringMatching(/^\d+\./),
		address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
	});
	expect(code).toBe(0);
});

test("serve logs for people when asked to", async () => {
	const { out } = await runUntil(["serve", ...here, "--log-format", "pretty"], /listening/);
	expect(out).toMatch(/INFO.*: flowfabric is listening\n/);
	expect(out).toMatch(/stopping/);
});

test("serve takes tokens from a file, each with its role", async () => {
	const folder = await mkdtemp(join(tmpdir(), "flowfabric-tokens-"));
	const file = join(folder, "tokens.json");
	const token = "a-token-that-only-reads";
	const hash = createHash("sha256").update(token).digest("hex");
	await writeFile(file, JSON.stringify([{ hash, name: "reader", role: "viewer" }]));
	const { out } = await runUntil(["serve", ...here, "--tokens-file", file, "--json"], /listening/, async (url) => {
		const as = { env: { FF_URL: url, FF_TOKEN: token } };
		expect((await runHere(["list"], as)).code).toBe(0);
		expect(await runHere(["submit", "thing"], as)).toMatchObject({
			code: 4,
			err: expect.stringContaining("forbidden"),
		});
	});
	expect(out).not.toContain(token);
	await rm(folder, { recursive: true });
});

test("serve restricts its scanners as the environment says", async () => {
	const restricted = { FF_SCANNER_NAMESPACES: "team-a,team-b", FF_SCANNER_TAGS: "tier:gold" };
	await runUntil(
		["serve", ...here, "--json"],
		/listening/,
		async (url) => {
			const { restrictedTo } = (await (await fetch(`${url}/v1/admin/scanners`)).json()) as { restrictedTo: unknown };
			expect(restrictedTo).toEqual({ namespaces: ["team-a", "team-b"], tags: ["tier:gold"] });
		},
		restricted,
	);
});

test("dev --json tells everything as documents, one a line", async () => {
	const { code, out } = await runUntil(["dev", ...here, "--json"], /"ready":true/);
	const documents = out
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line) as Record<string, { type?: string; value?: unknown }>);
	expect(documents[0]).toMatchObject({ listening: { address: expect.stringMatching(/^http/) } });
	expect(documents.filter(({ event }) => event?.type === "retry_scheduled")).toHaveLength(2);
	expect(documents.some(({ event }) => event?.type === "lease_expired")).toBe(true);
	expect(documents.map(({ result }) => result?.value)).toContain("3 steps done by attempt 1");
	expect(code).toBe(0);
});

import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENT_SETTINGS } from "../../src/cli/settings/client-settings.ts";
import { SERVER_SETTINGS } from "../../src/cli/settings/server-settings.ts";
import { readSettings, SettingError } from "../../src/cli/settings/setting.ts";
import { unknownVariables } from "../../src/cli/settings/unknown-variables.ts";
import { duration } from "../../src/cli/settings/values.ts";
import { FlowFabric } from "../../src/index.ts";
import { withoutPassword } from "../../src/store/shown-url.ts";
import { runHere } from "./stage.ts";

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-settings-"));
});
afterAll(() => rm(folder, { recursive: true }));

const read = (env: Record<string, string>, flags: object = {}) => readSettings(SERVER_SETTINGS, flags, env);

function complaint(env: Record<string, string>, flags: object = {}): string {
	try {
		read(env, flags);
	} catch (error) {
		if (error instanceof SettingError) return error.message;
		throw error;
	}
	return expect.fail("was not refused");
}

test("without anything set, the defaults of the spec", () => {
	expect(read({})).toEqual({
		store: "sqlite:./flowfabric.db",
		listen: { host: "127.0.0.1", port: 9090 },
		apiToken: undefined,
		tokens: undefined,
		waitpointSecretHex: undefined,
		waitpointGraceMs: 86_400_000,
		publicUrl: undefined,
		partitions: undefined,
		retentionMs: 86_400_000,
		sweepMs: 300_000,
		scannerNamespaces: undefined,
		scannerTags: undefined,
		maxConcurrentStreamOps: 64,
		requestsPerSecond: undefined,
		requestBurst: undefined,
		corsOrigins: undefined,
		openMetrics: false,
		logLevel: "info",
		logFormat: undefined,
	});
	expect(readSettings(CLIENT_SETTINGS, {}, {})).toEqual({ url: ["http://127.0.0.1:9090"], token: undefined });
});

test("a flag wins over the environment, and the environment over the default", () => {
	const env = { FF_STORE: "sqlite:./from-env.db", FF_LISTEN_ADDR: "[::1]:0", FF_LOG_LEVEL: "warn" };
	const values = read(env, { store: "memory:" });
	expect(values.store).toBe("memory:");
	expect(values.listen).toEqual({ host: "::1", port: 0 });
	expect(values.logLevel).toBe("warn");
});

test("an empty variable counts as not set", () => {
	expect(read({ FF_STORE: "", FF_API_TOKEN: "" }).store).toBe("sqlite:./flowfabric.db");
});

describe("a variable nobody knows is told by its name, with the nearest that is known", () => {
	test.each([
		["FF_STOER", "FF_STORE"],
		["FF_LISTEN_ADDRESS", "FF_LISTEN_ADDR"],
		["FF_LISTEN", "FF_LISTEN_ADDR"],
		["FF_API_TOKENS", "FF_API_TOKEN"],
		["FF_LOGLEVEL", "FF_LOG_LEVEL"],
		["FF_log_level", "FF_LOG_LEVEL"],
		["FF_PARTITIONS", "FF_FLOW_PARTITIONS"],
		["FF_TOKNE", "FF_TOKEN"],
		["FF_ULR", "FF_URL"],
	])("%s: %s", (name, nearest) => {
		expect(unknownVariables({ [name]: "a-secret" })).toEqual([
			`${name} is set, but no setting has this name; the nearest is ${nearest}`,
		]);
	});

	test("what is known, empty, of tests, or of somebody else is passed over", () => {
		const known = [...Object.values(SERVER_SETTINGS), ...Object.values(CLIENT_SETTINGS)].map(({ env }) => env);
		const env = Object.fromEntries(known.map((name) => [name, "x"]));
		expect(unknownVariables({ ...env, FF_NOTHING: "", FF_TEST_VALKEY_URL: "x", OFF_X: "x", FFMPEG: "x" })).toEqual([]);
	});

	test("a name that is no name is shown as text, and a long one cut", () => {
		const [long, odd] = unknownVariables({ "FF_\u001b[31m\n": "x", [`FF_${"X".repeat(5000)}`]: "x" }).sort();
		expect(odd).toMatch(/^"FF_\\u001b\[31m\\n" is set/);
		expect(long?.length).toBeLessThan(300);
	});

	test("commands say so before they do their work, a server in its log", async () => {
		const env = { FF_STOER: "memory:", FF_URL: "http://127.0.0.1:1" };
		const said = await runHere(["list"], { env });
		expect(said.err).toMatch(/^warning: FF_STOER is set, .*FF_STORE\n/);
		expect(said.err).not.toContain("memory:");
		const json = await runHere(["list", "--json"], { env });
		expect(JSON.parse(json.err.split("\n")[0] ?? "")).toEqual({ warning: expect.stringContaining("FF_STOER") });
		const stop = new AbortController();
		const served = await runHere(["serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--log-format", "json"], {
			env: { FF_LOGLEVEL: "debug" },
			stop: stop.signal,
			onOut: (all) => all.includes("is listening") && stop.abort(),
		});
		expect(JSON.parse(served.out.split("\n")[0] ?? "")).toMatchObject({
			level: 40,
			msg: "FF_LOGLEVEL is set, but no setting has this name; the nearest is FF_LOG_LEVEL",
		});
		expect(served.err).toBe("");
	});
});

describe("a bad setting is told by its name, its value and what is allowed", () => {
	test.each([
		[
			"FF_STORE",
			"mongodb://here",
			"must be sqlite:<file>, memory: or valkey://<host> (also valkeys://, redis://, rediss://)",
		],
		["FF_STORE", "sqlite:", "must be sqlite:<file>, memory: or valkey://<host> (also valkeys://, redis://, rediss://)"],
		["FF_LISTEN_ADDR", "9090", "must be host:port"],
		["FF_LISTEN_ADDR", "127.0.0.1:65536", "port from 0 to 65535"],
		["FF_FLOW_PARTITIONS", "0", "must be an integer from 1 to 256"],
		["FF_FLOW_PARTITIONS", "1e2", "must be an integer from 1 to 256"],
		["FF_WAITPOINT_HMAC_GRACE_MS", "1d", "must be an integer number of milliseconds from 0"],
		["FF_PUBLIC_URL", "flows.example.org", "must be an http:// or https:// address"],
		["FF_PUBLIC_URL", "ftp://flows.example.org", "without user, query and fragment"],
		["FF_RETENTION_MS", "-1", "must be an integer number of milliseconds"],
		["FF_SWEEP_MS", "999", "must be an integer number of milliseconds from 1000"],
		["FF_SCANNER_NAMESPACES", "a,b c", "must be namespaces"],
		["FF_SCANNER_TAGS", "team:a,Team", "must be tags such as team:a"],
		["FF_MAX_CONCURRENT_STREAM_OPS", "0", "must be an integer from 1 to 1000000"],
		["FF_REQUESTS_PER_SECOND", "0.5", "must be an integer from 1 to 1000000"],
		["FF_REQUEST_BURST", "0", "must be an integer from 1 to 1000000"],
		["FF_CORS_ORIGINS", "https://a.example/path", "must be origins"],
		["FF_OPEN_METRICS", "yes", "must be true or false"],
		["FF_LOG_LEVEL", "loud", "must be one of trace, debug, info, warn, error, silent"],
		["FF_LOG_FORMAT", "xml", "must be one of json, pretty"],
	])("%s=%s", (name, value, allowed) => {
		const message = complaint({ [name]: value });
		expect(message.startsWith(`${name}: `)).toBe(true);
		expect(message).toContain(allowed);
		expect(message).toContain(`got ${JSON.stringify(value)}`);
	});

	test("a bad flag is told by the flag", () => {
		expect(complaint({}, { logLevel: "loud" })).toMatch(/^--log-level: must be one of .*, got "loud"$/);
	});

	test("the password in a store's URL is never shown", () => {
		const spellings = [
			"mongodb://me:hunter2@host/1",
			"valkey:me:hunter2@host",
			"valkey://me:hunter2",
			"valkey://h?password=hunter2",
		];
		for (const url of spellings) expect(complaint({ FF_STORE: url })).not.toContain("hunter2");
		expect(complaint({ FF_STORE: "mongodb://me:hunter2@host/1" })).toContain('got "mongodb://…"');
	});

	test.each([
		"http://hunter2@h:1",
		" http://me:hunter2@h:1",
		"me:hunter2@h:9090",
		"http:/me:hunter2@h",
		"//me:hunter2@h",
		"http://:hunter2@h",
		"http://a/,http://me:hunter2@b",
		"http://me:hunter2,more@b",
		"http://me:hunter2",
		"http://me:x/hunter2@b",
		"http://h:1/?token=hunter2",
		"http://h:1/#hunter2",
		"http://h:1;hunter2",
		"http://h hunter2",
	])("an address that may hold a secret is refused and not shown: %s", async (url) => {
		for (const env of ["FF_PUBLIC_URL", "FF_CORS_ORIGINS"])
			expect(complaint({ [env]: url })).not.toMatch(/hunter2|more/);
		for (const env of ["FF_LISTEN_ADDR", "FF_LOG_LEVEL"])
			if (url.includes("@")) expect(complaint({ [env]: url })).not.toMatch(/hunter2|more/);
		for (const args of [["list"], ["doctor"], ["list", "--json"]]) {
			const { code, out, err } = await runHere([...args, "--url", url]);
			expect(out + err).toMatch(/--url: must be an http:\/\/ or https:\/\/ address without user, query and fragment/);
			expect(out + err).not.toMatch(/hunter2|more/);
			expect(code).not.toBe(0);
		}
		const refused = (() => {
			try {
				FlowFabric.connect(url);
			} catch (error) {
				return inspect(error, { depth: 9, showHidden: true });
			}
			return expect.fail("was not refused");
		})();
		expect(refused).not.toMatch(/hunter2|more/);
	});

	test("a token is never shown", () => {
		expect(complaint({ FF_API_TOKEN: "short-secret" })).toBe(
			"FF_API_TOKEN: must be 16 to 1024 printable ASCII characters without spaces",
		);
		expect(complaint({ FF_API_TOKEN: "a secret with some spaces" })).not.toContain("secret");
	});
});

test("a secret for waitpoints is never shown", () => {
	for (const bad of ["abcdef", "g".repeat(64), "a".repeat(63), "a".repeat(258)])
		expect(complaint({ FF_WAITPOINT_HMAC_SECRET: bad })).toBe(
			"FF_WAITPOINT_HMAC_SECRET: must be 32 to 128 bytes as hex digits",
		);
	expect(read({ FF_WAITPOINT_HMAC_SECRET: "Ab".repeat(32) }).waitpointSecretHex).toBe("Ab".repeat(32));
});

test("a public URL stands in front of a path", () => {
	const parsed = (url: string) => read({ FF_PUBLIC_URL: url }).publicUrl;
	expect(parsed("https://Flows.example.org/")).toBe("https://flows.example.org");
	expect(parsed("http://10.0.0.1:9090/base/")).toBe("http://10.0.0.1:9090/base");
});

describe("the file of tokens", () => {
	const hash = createHash("sha256").update("a token nobody guesses").digest("hex");
	const write = async (content: string) => {
		const path = join(folder, "tokens.json");
		await writeFile(path, content);
		return { FF_API_TOKENS_FILE: path };
	};

	test("gives names, roles and namespaces", async () => {
		const entries = [
			{ hash, name: "ops", role: "operator" },
			{ hash: hash.replace(/^./, "0"), name: "team-a", role: "submitter", namespace: "a" },
		];
		expect(read(await write(JSON.stringify(entries))).tokens).toEqual(entries);
	});

	test.each([
		["a role that is none", [{ hash, name: "x", role: "root" }], "tokens[0].role: must be one of viewer"],
		[
			"a field that is none",
			[{ hash, name: "x", role: "admin", color: 1 }],
			"tokens[0]: has a field that is none of hash, name, role",
		],
		["no list", { hash }, "must be a list of at least one"],
		["an empty list", [], "must be a list of at least one"],
		[
			"a name twice",
			[
				{ hash, name: "x", role: "admin" },
				{ hash: hash.replace(/^./, "0"), name: "x", role: "viewer" },
			],
			"tokens[1].name: is there twice",
		],
		[
			"a token twice, written in another case",
			[
				{ hash, name: "x", role: "viewer" },
				{ hash: hash.toUpperCase(), name: "y", role: "admin" },
			],
			"tokens[1].hash: is there twice",
		],
	])("%s is told by its place", async (_, entries, problem) => {
		const env = await write(JSON.stringify(entries));
		const message = complaint(env);
		expect(message).toContain("FF_API_TOKENS_FILE: ");
		expect(message).toContain(env.FF_API_TOKENS_FILE);
		expect(message).toContain(problem);
	});

	test.each([
		["a token alone in a list", ["s3cret-1234"], "tokens[0]: must be {hash, name, role,"],
		["a token alone", "s3cret-1234", "tokens: must be a list of at least one {hash, name, role,"],
		["tokens as names of fields", { "s3cret-1234": "admin" }, "tokens: must be a list"],
		["a token as the name of a field", [{ "s3cret-1234": "admin" }], "tokens[0].hash: is required"],
		[
			"a token as one more field",
			[{ hash, name: "x", role: "admin", "s3cret-1234": 1 }],
			"tokens[0]: has a field that is none of hash, name, role, namespace,",
		],
		["a token and a role", [["s3cret-1234", "admin"]], "tokens[0]: must be {hash,"],
		["a token for a role", [{ hash, name: "x", role: "s3cret-1234" }], "tokens[0].role: must be one of viewer"],
		[
			"a token for a namespace",
			[{ hash, name: "x", role: "admin", namespace: "s3cret 1234" }],
			"tokens[0].namespace: ",
		],
		["a token for a rate", [{ hash, name: "x", role: "admin", requestBurst: "s3cret-1" }], "tokens[0].requestBurst: "],
		["a list of tokens", [{ hash: ["s3cret-1234"], name: "x", role: "admin" }], "tokens[0].hash: must be"],
		[
			"lines in a hash",
			[{ hash: "a\u2028s3cret, got s3cret\ns3cret", name: "x", role: "admin" }],
			"tokens[0].hash: must",
		],
	])("nothing that stands in it is shown: %s", async (_, entries, problem) => {
		const message = complaint(await write(JSON.stringify(entries)));
		expect(message).toContain(problem);
		expect(message).not.toContain("s3cret");
	});

	test("what stands in the place of a hash is never shown, it may be the token itself", async () => {
		const message = complaint(await write(JSON.stringify([{ hash: "plain-token", name: "x", role: "admin" }])));
		expect(message).toContain("tokens[0].hash: must be the SHA-256 of the token as 64 hex digits");
		expect(message).not.toContain("plain-token");
	});

	test("a file that is not there, and one that is no JSON", async () => {
		expect(complaint({ FF_API_TOKENS_FILE: join(folder, "nowhere.json") })).toContain("cannot be read (ENOENT)");
		expect(complaint(await write("{"))).toContain("must be JSON");
	});
});

test("passwords are taken out of store URLs", () => {
	expect(withoutPassword("valkey://user:pa:ss@host:6379/1")).toBe("valkey://***@host:6379/1");
	expect(withoutPassword("valkey://only-a-password@host?cluster=true")).toBe("valkey://***@host?cluster=true");
	expect(withoutPassword("sqlite:./a:b@c.db")).toBe("sqlite:./a:b@c.db");
});

test.each([
	["500", 500],
	["10s", 10_000],
	["1.5m", 90_000],
	["2h", 7_200_000],
	["1d", 86_400_000],
	["soon", undefined],
	["-1s", undefined],
])("the duration %s", (text, ms) => {
	expect(duration(text)).toBe(ms);
});

test("the table of settings in docs/operations.md is the table in the code, both ways", async () => {
	const text = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
	const documented = [...text.matchAll(/^\| `(FF_[A-Z_]+)` \| (.*) \| (.*) \| (.*) \| (.*) \|$/gm)].map((row) =>
		row.slice(1, 6),
	);
	const known = [...Object.values(SERVER_SETTINGS), ...Object.values(CLIENT_SETTINGS)].map((setting) => [
		setting.env,
		"flag" in setting ? `\`${setting.flag.replaceAll("|", "\\|")}\`` : "none",
		"byDefault" in setting ? `\`${setting.byDefault}\`` : "not set",
		setting.about,
		setting.allowed,
	]);
	expect(documented).toEqual(known);
});

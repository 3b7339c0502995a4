import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PackedInstall } from "./packed.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

let installed: PackedInstall;
beforeAll(() => {
	installed = new PackedInstall();
});
afterAll(() => installed.remove());

/** Packages that take long to load, each of which only some programs need. */
const HEAVY = [
	"fastify",
	"@fastify/cors",
	"@fastify/swagger",
	"better-sqlite3",
	"iovalkey",
	"undici",
	"prom-client",
	"pino",
	"pino-pretty",
	"@opentelemetry/api",
];

/** The packages that a program has loaded when it ends. */
async function loadedBy(args: readonly string[]): Promise<string[]> {
	const spy = pathToFileURL(join(root, "test/packaging/loaded-packages.mjs")).href;
	const { stderr } = await run(process.execPath, ["--import", spy, ...args], { cwd: installed.folder });
	return JSON.parse(/^loaded: (.*)$/m.exec(stderr)?.[1] ?? "[]") as string[];
}

const program = (name: string, source: string): string => {
	const path = installed.path(name);
	writeFileSync(path, source);
	return path;
};

test("it holds what the package needs, and no tests, tools or examples", () => {
	const folders = new Set(installed.files.map((path) => (path.includes("/") ? path.split("/")[0] : path)));
	expect([...folders].sort()).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist", "docs", "package.json"]));
	expect(installed.files.filter((path) => /^(test|bench|examples|scripts)\/|\.test\.|tsbuildinfo/.test(path))).toEqual(
		[],
	);
});

test("every compiled file has a source map that contains its source", () => {
	const compiled = installed.files.filter((path) => {
		const writtenByHand = existsSync(join(root, path.replace(/^dist/, "src")));
		return path.startsWith("dist/") && path.endsWith(".js") && !writtenByHand;
	});
	expect(compiled).toContain("dist/index.js");
	for (const path of compiled) {
		const shipped = (name: string) => readFileSync(installed.path(join("node_modules/flowfabric", name)), "utf8");
		const [, mapName = "none"] = /\/\/# sourceMappingURL=(\S+)\s*$/.exec(shipped(path)) ?? [];
		const map = JSON.parse(shipped(join(dirname(path), mapName))) as { sources: string[]; sourcesContent?: string[] };
		const sources = map.sources.map((source) => readFileSync(join(root, dirname(path), source), "utf8"));
		expect(map.sourcesContent, path).toEqual(sources);
	}
});

test("a stack trace of the package names the line of its TypeScript source", async () => {
	const path = program(
		"stack.mjs",
		`import { FlowFabric } from "flowfabric";
		try { FlowFabric.connect(""); } catch (error) { console.log(error.stack); }`,
	);
	const { stdout } = await run(process.execPath, ["--enable-source-maps", path], { cwd: installed.folder });
	expect(stdout).toMatch(/\/src\/\S+\.ts:\d+:\d+/);
	expect(stdout).not.toContain("/dist/");
});

describe("what takes long to load is loaded only when it is needed", () => {
	const cli = () => installed.path("node_modules/flowfabric/dist/cli/main.js");

	test('import "flowfabric"', async () => {
		const loaded = await loadedBy([program("import.mjs", 'await import("flowfabric");')]);
		expect(loaded).toContain("flowfabric");
		expect(loaded.filter((name) => HEAVY.includes(name))).toEqual([]);
	});

	test("opening memory: and running work", async () => {
		const loaded = await loadedBy([
			program(
				"memory.mjs",
				`import { openTest } from "flowfabric/testing";
				const ff = await openTest();
				await ff.worker().handle("job", () => 1).start();
				await (await ff.submit("job")).result();
				await ff.close();`,
			),
		]);
		expect(loaded.filter((name) => HEAVY.includes(name))).toEqual([]);
	});

	test("connecting loads undici, and nothing of a server or a store", async () => {
		const source = 'import { FlowFabric } from "flowfabric"; await FlowFabric.connect("http://127.0.0.1:9").close();';
		const loaded = await loadedBy([program("connect.mjs", source)]);
		expect(loaded.filter((name) => HEAVY.includes(name))).toEqual(["undici"]);
	});

	test("flowfabric --version loads no package at all", async () => {
		expect(await loadedBy([cli(), "--version"])).toEqual(["flowfabric"]);
	});

	test.each([["--help"], ["list", "--help"], ["serve", "--help"]])("flowfabric %s %s", async (...args) => {
		const loaded = await loadedBy([cli(), ...args.filter((each) => each !== undefined)]);
		expect(loaded).toEqual(["commander", "flowfabric"]);
	});
});

const USES = `
import { FlowFabric, type Execution, TerminalError } from "flowfabric";
import { startServer, type StartedServer, type TokenEntry } from "flowfabric/server";
import { openTest, type CallName, type TestFabric } from "flowfabric/testing";

type Kinds = { double: { input: number; result: number } };
const call: CallName = "executions.create";
// @ts-expect-error: there is no such call
const wrong: CallName = "executions.make";
const tokens: TokenEntry[] = [];
const ff: TestFabric<Kinds> = await openTest<Kinds>();
const plain: FlowFabric<Kinds> = ff;
ff.loseReply(call);
const server: StartedServer<Kinds> = await startServer({ ff: plain, tokens, listen: "127.0.0.1:0" });
const read: Execution = await server.ff.get("ex_0");
const twice: number = await (await ff.submit("double", 2)).result();
throw new TerminalError(\`\${wrong} \${read.kind} \${twice}\`);
`;

/** What the compiler says about a program that uses the package. */
async function compile(name: string, options: object, flags: readonly string[] = []): Promise<string> {
	const uses = program(`uses-${name}.mts`, USES);
	const config = program(
		`tsconfig.${name}.json`,
		JSON.stringify({
			compilerOptions: { target: "es2022", strict: true, noEmit: true, types: ["node"], ...options },
			files: [uses],
		}),
	);
	const tsc = join(root, "node_modules/typescript/bin/tsc");
	const { stdout } = await run(process.execPath, [tsc, "-p", config, ...flags], { cwd: installed.folder }).catch(
		(error: { stdout: string }) => error,
	);
	return stdout;
}

describe("its types are found", () => {
	test.each([
		["node16", "node16"],
		["nodenext", "nodenext"],
		["esnext", "bundler"],
	])("with module %s and moduleResolution %s", async (module, moduleResolution) => {
		const options = { module, moduleResolution, exactOptionalPropertyTypes: true, skipLibCheck: true };
		expect(await compile(moduleResolution, options)).toBe("");
	});

	test("with skipLibCheck off, and only from packages that are installed with it", async () => {
		const options = { module: "nodenext", moduleResolution: "nodenext", skipLibCheck: false };
		const lines = (await compile("checked", options, ["--listFiles"])).trim().split("\n");
		expect(lines.filter((line) => line.includes("error TS"))).toEqual([]);
		const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
			packages: Record<string, { dev?: boolean }>;
		};
		const used = new Set(
			lines.map((line) => /node_modules\/(?:@[^/]+\/)?[^/]+(?!.*node_modules)/.exec(line)?.[0] ?? ""),
		);
		expect(used).toContain("node_modules/flowfabric");
		const missing = [...used].filter((name) => packages[name]?.dev);
		// Programs for Node bring the types of Node; typescript itself holds those of the language.
		const ofTheProgram = ["node_modules/@types/node", "node_modules/undici-types", "node_modules/typescript"];
		expect(missing.filter((name) => !ofTheProgram.includes(name))).toEqual([]);
	});
});

test("a program starts a server, and another connects to it", async () => {
	const source = `
		import { FlowFabric } from "flowfabric";
		import { startServer } from "flowfabric/server";
		const server = await startServer({ store: "sqlite:./packed.db", listen: "127.0.0.1:0" });
		await server.ff.worker().handle("double", (_ctx, n) => 2 * n).start();
		const client = FlowFabric.connect(server.url);
		console.log(await (await client.submit("double", 21)).result());
		await client.close();
		await server.close();
	`;
	const { stdout } = await run(process.execPath, [program("serves.mjs", source)], { cwd: installed.folder });
	expect(stdout).toBe("42\n");
});

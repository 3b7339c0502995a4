import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { Redis } from "iovalkey";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startServer } from "../../src/hosting/index.ts";
import { FlowFabric } from "../../src/index.ts";
import { makeLog } from "../../src/server/log.ts";
import { isStoreUrl } from "../../src/store/open.ts";
import { shownUrl, withoutPassword } from "../../src/store/shown-url.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { hasValkey, startValkey, type ValkeyServer } from "../servers/valkey-server.ts";
import { runHere } from "./stage.ts";

/** A password in the URL of a store is never shown, however it is written and whatever is wrong with it. */

const AT = "127.0.0.1:6379";
const SPELLINGS = [
	`valkey://:hunter2@${AT}`,
	`valkey://me:hunter2@${AT}`,
	`valkey://hunter2@${AT}`,
	`redis://me:hunter%32@${AT}/0`,
	`redis://me:h%75nter2@${AT}?cluster=true`,
	`rediss://me:hunter2@${AT}`,
	`VALKEY://me:hunter2@${AT}`,
	` valkey://me:hunter2@${AT}`,
	`valkey:me:hunter2@${AT}`,
	`valkey:/me:hunter2@${AT}`,
	`valkey//me:hunter2@${AT}`,
	`valkey://me:hunter2/x@${AT}`,
	`valkey://me:hunter2?x@${AT}`,
	`valkey://me:hunter2#x@${AT}`,
	`valkey://me:a@hunter2@${AT}`,
	`valkey://me:hunter2%@${AT}`,
	`valkey://me:hunter2@${AT}/one`,
	`valkey://me:hunter2@h:0`,
	`valkey://${AT}?password=hunter2`,
	`valkey://${AT}/0?prefix=x&password=hunter2`,
	`valkey://${AT}?hunter2`,
	`valkey://${AT}#hunter2`,
	`valkey://${AT}?cluster=true;password=hunter2`,
	`valkey://${AT}?prefix=x;password=hunter2`,
	`valkey://${AT}?hunter2=`,
	`valkey://${AT}?cluster=true&hunter2=x`,
	`valkey://${AT}/hunter2`,
	`valkey://${AT}/hunter2?cluster=true`,
	`valkeys://${AT}?ca=/nowhere.pem;password=hunter2`,
	"valkey://h&password=hunter2",
	"valkey://h;password=hunter2",
	"valkey://h,password=hunter2?cluster=true",
	"valkey://hunter2!",
	"valkey://h hunter2",
	"VALKEY://h/hunter2",
	"mongodb://h/hunter2",
	"mongodb://h;password:hunter2",
	"h;hunter2",
	`valkey://me:hunter2@${AT},me:hunter2@${AT}?cluster=true`,
	"postgres://me:hunter2@localhost/db",
	"postgresql://localhost/db?password=hunter2",
	"mongodb+srv://me:hunter2@h/db",
	"me:hunter2@localhost:6379",
	"localhost:6379,password=hunter2",
	"password=hunter2",
	"hunter2@localhost",
];
const SECRET = /h(?:u|%75)nter(?:2|%32)/i;

let folder: string;
beforeAll(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Everything that opens a store, and what it says of it. */
async function saidOf(url: string): Promise<string> {
	const said: string[] = [];
	const file = join(folder, "backup.jsonl");
	for (const args of [["serve"], ["dev"], ["doctor"], ["import", file], ["backup", "--to", `${file}.new`], ["bench"]]) {
		for (const json of [[], ["--json"]]) {
			const listen = args[0] === "serve" || args[0] === "dev" ? ["--listen", "127.0.0.1:0"] : [];
			const { out, err } = await runHere([...args, "--store", url, ...listen, ...json]);
			said.push(out, err);
		}
	}
	const { out, err } = await runHere(["serve", "--listen", "127.0.0.1:0"], { env: { FF_STORE: url } });
	said.push(out, err);
	said.push(await tellingOf(() => FlowFabric.open(url)));
	const log = makeLog({ level: "trace", write: (line) => void said.push(line) });
	said.push(await tellingOf(() => startServer({ store: url, listen: "127.0.0.1:0", log })));
	return said.join("\n");
}

/** What an error says to whoever prints it whole. */
async function tellingOf(open: () => Promise<{ close(): Promise<unknown> }>): Promise<string> {
	try {
		await (await open()).close();
		return "";
	} catch (error) {
		return inspect(error, { depth: 9, showHidden: true });
	}
}

test.each(SPELLINGS.filter(isStoreUrl))("%s, which can be opened, is shown without it", (url) => {
	for (const shown of [withoutPassword(url), shownUrl(url), parseValkeyUrl(url).shown])
		expect(shown).not.toMatch(SECRET);
});

test.each(SPELLINGS.filter((url) => !isStoreUrl(url)))("%s is refused without showing it", async (url) => {
	const said = await saidOf(url);
	expect(said).not.toBe("");
	expect(said.split("\n").filter((line) => SECRET.test(line))).toEqual([]);
});

describe.runIf(hasValkey())("a server with a password", () => {
	let server: ValkeyServer;
	beforeAll(async () => {
		server = await startValkey();
		const client = new Redis(server.url.replace(/^valkey/, "redis"));
		await client.config("SET", "requirepass", "hunter2");
		client.disconnect();
	});
	afterAll(() => server.stop());
	const urlWith = (user: string): string => server.url.replace("://", `://${user}@`);

	test("that is right is shown by no command, and is in no line of the log", async () => {
		const url = urlWith("default:hunter2");
		const lines: string[] = [];
		const log = makeLog({ level: "trace", write: (line) => void lines.push(line) });
		await (await startServer({ store: url, listen: "127.0.0.1:0", log })).close();
		const { out, err } = await runHere(["doctor", "--store", url]);
		expect([out, lines.join("")]).toEqual([expect.stringContaining("://***@"), expect.stringContaining("://***@")]);
		expect([out, err, ...lines].join("\n")).not.toMatch(SECRET);
	});

	test.each(["default:hunter22", "me:hunter2", "hunter2"])("that is wrong is not shown either: %s", async (user) => {
		const said = await tellingOf(() => FlowFabric.open(urlWith(user)));
		const { out, err } = await runHere(["doctor", "--store", urlWith(user)]);
		expect(said).toMatch(/WRONGPASS|NOAUTH/);
		expect([said, out, err].join("\n")).not.toMatch(SECRET);
	});
});

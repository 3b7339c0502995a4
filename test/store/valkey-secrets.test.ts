import { inspect } from "node:util";
import { Redis } from "iovalkey";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { Connection } from "../../src/store/valkey/connection.ts";
import { connectionOptions } from "../../src/store/valkey/node.ts";
import { parseValkeyUrl } from "../../src/store/valkey/url.ts";
import { startCluster, type ValkeyCluster } from "../servers/valkey-cluster.ts";
import { hasValkey, startValkey, type ValkeyServer } from "../servers/valkey-server.ts";

/** What a program sees of an error, printed whole, holds neither the password nor anything else that was sent. */

const PASSWORD = "hunter2";
const SENT = /hunter2|p4yload/;

/** Everything there is to see of an error: hidden properties too. */
const whole = (error: unknown): string => inspect(error, { depth: 9, showHidden: true });

async function errorOf(call: Promise<unknown>): Promise<unknown> {
	return call.then(
		() => expect.fail("was not refused"),
		(error: unknown) => error,
	);
}

/** As an administrator would: by commands, each with its words. */
async function tell(url: string, password: string | undefined, ...commands: [string, ...string[]][]): Promise<void> {
	const client = new Redis(url, password === undefined ? {} : { password });
	for (const command of commands) await client.call(...command);
	client.disconnect();
}

const withPassword = (url: string, password = PASSWORD): string => url.replace("://", `://default:${password}@`);

describe.runIf(hasValkey())("errors of a server with a password", () => {
	let server: ValkeyServer;
	beforeAll(async () => {
		// A server of our own, whatever server tests are pointed to; until it has started it must tell who it is.
		server = await startValkey(["--appendonly", "no"]);
		await tell(server.url, undefined, ["CONFIG", "SET", "requirepass", PASSWORD]);
	});
	afterAll(() => server.stop());

	it("do not hold a password that is wrong", async () => {
		const error = await errorOf(FlowFabric.open(withPassword(server.url, "hunter22")));
		expect(whole(error)).toMatch(/WRONGPASS/);
		expect(whole(error)).not.toMatch(SENT);
	});

	it("do not hold it while an engine runs whose password has been changed, nor what was submitted", async () => {
		const faults: unknown[] = [];
		let onFault: () => void = () => {};
		const faulted = new Promise<void>((resolve) => {
			onFault = resolve;
		});
		const ff = await FlowFabric.open(withPassword(server.url), {
			onFault(fault) {
				faults.push(fault);
				onFault();
			},
		});
		onTestFinished(() => ff.close());
		await tell(server.url, PASSWORD, ["CONFIG", "SET", "requirepass", "changed"]);
		await tell(server.url, "changed", ["CLIENT", "KILL", "TYPE", "normal"], ["CLIENT", "KILL", "TYPE", "pubsub"]);
		onTestFinished(() => tell(server.url, "changed", ["CONFIG", "SET", "requirepass", PASSWORD]));
		const errors = [await errorOf(ff.submit("job", "p4yload")), await errorOf(ff.get(`ex_${"0".repeat(32)}_0`))];
		await faulted;
		expect(whole(errors)).toMatch(/WRONGPASS|NOAUTH/);
		expect(whole([errors, faults])).not.toMatch(SENT);
	});

	it("do not hold what was submitted when the server refuses a call", async () => {
		const ff = await FlowFabric.open(withPassword(server.url));
		onTestFinished(() => ff.close());
		await tell(server.url, PASSWORD, ["ACL", "SETUSER", "default", "-fcall"]);
		onTestFinished(() => tell(server.url, PASSWORD, ["ACL", "SETUSER", "default", "+fcall"]));
		const error = await errorOf(ff.submit("job", "p4yload"));
		expect(whole(error)).toMatch(/NOPERM/);
		expect(whole(error)).not.toMatch(SENT);
	});
});

describe.runIf(hasValkey())("errors of a server that knows no AUTH", () => {
	it("do not hold the password, though the server repeats what it was sent", async () => {
		const server = await startValkey(["--rename-command", "AUTH", "LOGIN"]);
		onTestFinished(() => server.stop());
		const at = parseValkeyUrl(withPassword(server.url));
		const connection = new Connection(connectionOptions(at, at.hosts[0]));
		onTestFinished(() => connection.disconnect());
		const told = new Promise((resolve) => connection.once("error", resolve));
		connection.connect().catch(() => {});
		expect(whole(await told)).toMatch(/unknown command/i);
		expect(whole(await told)).not.toMatch(SENT);
	});
});

describe.runIf(hasValkey())("errors of a cluster with a password", () => {
	let cluster: ValkeyCluster;
	beforeAll(async () => {
		cluster = await startCluster();
		for (const { url } of cluster.primaries) await tell(url, undefined, ["CONFIG", "SET", "requirepass", PASSWORD]);
	});
	afterAll(() => cluster.stop());

	it("do not hold a password that is wrong", async () => {
		const error = await errorOf(FlowFabric.open(withPassword(cluster.url, "hunter22")));
		expect(whole(error)).toMatch(/WRONGPASS/);
		expect(whole(error)).not.toMatch(SENT);
	});

	it("do not hold it while an engine runs whose password has been changed", async () => {
		const ff = await FlowFabric.open(withPassword(cluster.url));
		onTestFinished(() => ff.close());
		for (const { url } of cluster.primaries) {
			await tell(url, PASSWORD, ["CONFIG", "SET", "requirepass", "changed"]);
			await tell(url, "changed", ["CLIENT", "KILL", "TYPE", "normal"], ["CLIENT", "KILL", "TYPE", "pubsub"]);
		}
		const error = await errorOf(ff.submit("job", "p4yload"));
		expect(whole(error)).toMatch(/WRONGPASS|NOAUTH/);
		expect(whole(error)).not.toMatch(SENT);
	});
});

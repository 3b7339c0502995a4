import { once } from "node:events";
import { expect, test } from "vitest";
import { entry, Stand, tokenOf, until } from "./stand.ts";

/** Four times as long is what the second backup has, on a machine that may be busy. */
const LIMIT_MS = 500;

/** A server that takes one backup at a time, whose first line comes when the test says so. */
async function open(requestTimeoutMs?: number) {
	const { backend } = await Stand.open();
	const backups = { begun: 0, ended: 0, goOn: () => {} };
	async function* backup() {
		try {
			backups.begun += 1;
			await new Promise<void>((resolve) => (backups.goOn = resolve));
			yield "a line";
			yield "another line";
		} finally {
			backups.ended += 1;
		}
	}
	const stand = await Stand.open({
		backendFor: (caller) => ({ ...backend.as(caller), admin: { ...backend.admin, backup } as never }),
		pools: { backups: 1 },
		...(requestTimeoutMs === undefined ? undefined : { requestTimeoutMs }),
	});
	return { stand, backups };
}

type Opened = Awaited<ReturnType<typeof open>>;

async function takesAnother({ stand, backups }: Opened): Promise<void> {
	const already = backups.begun;
	const another = stand.call("POST", "/v1/admin/backup");
	await Promise.race([another, until(() => backups.begun > already)]);
	backups.goOn();
	expect(await another).toMatchObject({ status: 200, text: "a line\nanother line\n" });
}

test("a backup whose reader leaves before its first line is put away, and is no error of ours", async () => {
	const opened = await open();
	const { stand, backups } = opened;
	const { socket, closed } = stand.socket();
	const head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 2";
	socket.write(`POST /v1/admin/backup HTTP/1.1\r\n${head}\r\n\r\n{}`);
	await until(() => backups.begun);
	socket.destroy();
	await closed;
	// Both ends are in this process: a server that has answered another call has seen the end of this one.
	await stand.call("GET", "/v1/executions");
	backups.goOn();
	await until(() => backups.ended);
	await takesAnother(opened);
	expect(stand.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
});

test("a backup that comes too late to be answered is put away", async () => {
	const opened = await open(LIMIT_MS);
	const { stand, backups } = opened;
	expect(await stand.call("POST", "/v1/admin/backup")).toMatchObject({ status: 504 });
	backups.goOn();
	await until(() => backups.ended);
	await takesAnother(opened);
});

test("of two backups that nobody reads, one makes room for another's", async () => {
	const { backend } = await Stand.open();
	let ended = 0;
	async function* endless() {
		try {
			for (;;) yield "x".repeat(100_000);
		} finally {
			ended += 1;
		}
	}
	async function* short() {
		yield "a line";
	}
	const stand = await Stand.open({
		backendFor: (caller) => {
			const backup = caller.actor === "ada" ? endless : short;
			return { ...backend.as(caller), admin: { ...backend.admin, backup } as never };
		},
		pools: { backups: 2 },
		tokens: [entry("ada", "admin"), entry("bob", "admin")],
	});
	const unread = [stand.socket(), stand.socket()];
	for (const { socket } of unread) {
		socket.pause();
		socket.write(
			`POST /v1/admin/backup HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokenOf("ada")}\r\n\r\n`,
		);
	}
	await Promise.all(unread.map(({ socket }) => once(socket, "readable")));
	expect((await stand.call("POST", "/v1/admin/backup", { token: tokenOf("ada") })).status).toBe(429);
	expect(await stand.call("POST", "/v1/admin/backup", { token: tokenOf("bob") })).toMatchObject({ text: "a line\n" });
	await until(() => ended === 1);
});

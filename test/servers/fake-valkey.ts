import { createServer, type Socket } from "node:net";

/** What a server answers to a command: text is sent as a bulk string, an error as one; undefined is no answer, it hangs up. */
export type Answer = string | null | Error | undefined;

/** A server that speaks just enough of the protocol to say what a real one of another version would. */
export async function startFakeValkey(answer: (command: string[]) => Answer) {
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		let pending = "";
		socket.on("data", (data) => {
			pending += data.toString();
			for (;;) {
				const taken = takeCommand(pending);
				if (!taken) return;
				pending = taken.rest;
				const said = answer(taken.command);
				if (said === undefined) return void socket.destroy();
				socket.write(encoded(said));
			}
		});
		socket.on("error", () => {});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address = server.address() as { port: number };
	return {
		url: `valkey://127.0.0.1:${address.port}`,
		async stop() {
			for (const socket of sockets) socket.destroy();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

function takeCommand(text: string): { command: string[]; rest: string } | undefined {
	const lines = text.split("\r\n");
	const count = Number(/^\*(\d+)$/.exec(lines[0] ?? "")?.[1]);
	if (Number.isNaN(count) || lines.length < 2 + 2 * count) return undefined;
	const command = Array.from({ length: count }, (_, n) => lines[2 + 2 * n] ?? "");
	return { command, rest: lines.slice(1 + 2 * count).join("\r\n") };
}

function encoded(answer: Exclude<Answer, undefined>): string {
	if (answer === null) return "$-1\r\n";
	if (answer instanceof Error) return `-${answer.message}\r\n`;
	return `$${Buffer.byteLength(answer)}\r\n${answer}\r\n`;
}

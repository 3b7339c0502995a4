import { Redis, type RedisOptions } from "iovalkey";

/**
 * A connection whose errors hold nothing of what was sent. The driver hangs the command that failed on its error, so a
 * refused login would carry the password, and a refused commit what somebody submitted, to whoever prints the error.
 */
export class Connection extends Redis {
	constructor(options: RedisOptions) {
		super(options);
		// The first to be told: whoever listens later gets the error as it is then.
		this.on("error", bare);
	}

	/** Every command goes through here, the driver's own as well. */
	override sendCommand(...[command, stream]: Parameters<Redis["sendCommand"]>): unknown {
		const { reject } = command;
		command.reject = (error) => reject(bare(error));
		return super.sendCommand(command, stream);
	}
}

/** What the driver adds: the command that failed, or the bytes it could not read. */
const ADDED = ["command", "buffer"];

/** A server that does not know a command says it again, with all that came with it. */
const SAID_AGAIN = /, with args beginning with:.*/gs;

/** The error itself, without what was sent: the driver tells more than one about the same error. */
function bare<E>(error: E): E {
	if (!(error instanceof Error)) return error;
	for (const name of ADDED) delete (error as unknown as Record<string, unknown>)[name];
	if (error.message.search(SAID_AGAIN) >= 0) {
		const { message, stack } = error;
		error.message = message.replace(SAID_AGAIN, "");
		if (stack !== undefined) error.stack = stack.replace(message, error.message);
	}
	return error;
}

import SQLite from 'better-sqlite3'

/** The control: loaded before the server, it takes the server's durability away. */
const { pragma } = SQLite.prototype
SQLite.prototype.pragma = function (this: SQLite.Database, source, options) {
  return pragma.call(this, source.replace('synchronous = FULL', 'synchronous = NORMAL'), options)
}

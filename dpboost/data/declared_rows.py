"""Features, labels and users of a table by its declarations.

The command line and Python share this code. The data dictionary, never the cells, determines the
features, the users, and which cells are numbers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.containers import is_frame, unpack
from dpboost.schema import DataDictionary, DictionarySchema, Schema
from dpboost.schema.declared_types import is_text, label_column, typed


@dataclass(frozen=True, kw_only=True)
class Interface:
    """Names of arguments in messages."""

    #: The table; where its target is named; what writes a dictionary to be filled in; what takes
    #: types as the cells show them.
    table: str
    target: str
    template: str
    assume: str
    #: Whether the cells of a table are text, whatever they hold, so that only a declaration says
    #: their type.
    all_text: bool


COMMAND_LINE = Interface(
    table="the file",
    target="--target COLUMN",
    template="dpboost schema DATA",
    assume="pass --assume-types",
    all_text=True,
)
PYTHON = Interface(
    table="X",
    target="y",
    template="dpboost.schema_template(X)",
    assume="give the columns of X types",
    all_text=False,
)


class DeclaredRows(NamedTuple):
    """A table, split by its declarations.

    Parameters
    ----------
    X : DataFrame
        The features alone, with their declared types.
    y : array-like
    user_ids : array-like or None
    left_out : tuple of str
        Columns of which nothing is declared.
    """

    X: Any
    y: Any
    user_ids: Any
    left_out: tuple[str, ...] = ()

    @property
    def left_out_line(self) -> str:
        """What is said of the columns that were left out."""
        return f"left out: the data dictionary does not name {', '.join(self.left_out)}"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """Public declarations of a table, and the roles of its columns.

    Privacy
    -------
    Public. What it makes of a table depends on no cell, but where types are assumed: then one row
    can change a type, and the guarantee is one between tables with the same column types.
    """

    #: Ranges and values.
    schema: Schema
    #: Types and roles as well.
    dictionary: DataDictionary | None = None
    #: Columns of labels and of users.
    target: str | None = None
    user: str | None = None
    #: Whose words messages have.
    interface: Interface = PYTHON

    @classmethod
    def of(
        cls,
        declared: Any,
        *,
        target: str | None = None,
        user: str | None = None,
        interface: Interface = PYTHON,
    ) -> Declaration:
        """Read what a user declares.

        Parameters
        ----------
        declared : None, Schema, dict, DataDictionary or path
            As `Schema.coerce` takes it.
        target, user : str, optional
            Columns that have these roles, and no other has.
        """
        if isinstance(declared, (str, os.PathLike)):
            declared = Schema.or_dictionary(declared)
        max_rows = None
        if isinstance(declared, DictionarySchema):
            declared, max_rows = declared.dictionary, declared.max_rows
        if not isinstance(declared, DataDictionary):
            schema = Schema.coerce(declared)
            return cls(schema=schema, target=target, user=user, interface=interface)
        found = declared.with_role("user", user)
        dictionary = found.with_role("target", target)
        parts = found.schema_parts(target)
        return cls(
            schema=DictionarySchema(**parts, max_rows=max_rows, dictionary=dictionary),
            dictionary=dictionary,
            target=target or found.target,
            user=user or found.user_column,
            interface=interface,
        )

    def rows(
        self,
        table: Any,
        *,
        task: str,
        y: Any = None,
        user_ids: Any = None,
        assume_types: bool = False,
        keep_cells: bool = False,
    ) -> DeclaredRows:
        """Divide a table into features, labels and users.

        Parameters
        ----------
        table : DataFrame
        task : {"classification", "regression"}
        y, user_ids : array-like, optional
            Instead of the columns that are declared as such.
        assume_types : bool
            Whether types of other columns are read off the cells.
        keep_cells : bool
            Whether values of categories that are not listed stay, for a look at the rows.

        Raises
        ------
        InvalidParameterError
            For columns that the table does not have, and for those without a type; it names all of
            them and no cell.
        """
        twice = table.columns[table.columns.duplicated()]
        if len(twice):
            raise InvalidParameterError(f"{self._table} has two columns {twice[0]!r}.")
        y = self.labels(table, task) if y is None else y
        user_ids = self.users(table) if user_ids is None else user_ids
        names = [name for name in table.columns if name not in {self.target, self.user}]
        left_out: list[str] = []
        if self.dictionary is not None:
            known = {entry.name for entry in self.dictionary.entries}
            left_out = [str(name) for name in names if name not in known]
            names = [name for name in names if name in set(self.dictionary.features)]
        X = self.features(table[names], assume_types=assume_types, keep_cells=keep_cells)
        return DeclaredRows(X, y, user_ids, tuple(left_out))

    def labels(self, table: Any, task: str) -> Any:
        """Return the labels of a table, or raise as `rows`."""
        return label_column(table[self._column(self.target, table)], self.schema.classes, task)

    def users(self, table: Any) -> Any:
        """Return the user of each row, None if no column says it; or raise as `rows`."""
        # In Python a table without the column protects rows, or comes with user_ids.
        if self.user is None or not (self.interface.all_text or self.user in table.columns):
            return None
        return table[self._column(self.user, table)].to_numpy()

    def features(self, table: Any, *, assume_types: bool = False, keep_cells: bool = False) -> Any:
        """Return the features of a table, with their declared types.

        Parameters
        ----------
        table : DataFrame
            Columns that are no features are left out.
        assume_types, keep_cells : bool
            As in `rows`.
        """
        table = self._of_features(table)
        problems = self.problems(table, assume_types=assume_types)
        if problems:
            raise InvalidParameterError("\n".join(problems))
        guess = self.interface.all_text
        return typed(table, *self.schema.kinds(), keep_cells=keep_cells, guess=guess)

    def _of_features(self, table: Any) -> Any:
        """Return the columns that are features by the dictionary, all without one."""
        if self.dictionary is None:
            return table
        return table[[name for name in table.columns if name in set(self.dictionary.features)]]

    def problems(self, table: Any, *, assume_types: bool = False) -> list[str]:
        """Return what to correct until a table matches its declaration, in lines.

        Parameters
        ----------
        table : DataFrame
            Its names and types are looked at, and no cell.
        assume_types : bool
            As in `rows`.
        """
        table = self._of_features(table)
        listed, numeric, learned = self.schema.kinds()
        names = [str(name) for name in table.columns]
        known = {*numeric, *listed, *learned, self.target, self.user}
        undeclared = [
            name
            for position, name in enumerate(names)
            if name not in known and (self.interface.all_text or is_text(table.iloc[:, position]))
        ]
        return self._problems(names, [] if assume_types else undeclared)

    @property
    def _table(self) -> str:
        """The table, at the beginning of a sentence."""
        return self.interface.table[:1].upper() + self.interface.table[1:]

    def _column(self, name: str | None, table: Any) -> str:
        """Return the name of a column of the table, or raise."""
        words = self.interface
        if name is None:
            raise InvalidParameterError(
                f"The target column is missing: {words.target}, or set the role 'target' in a "
                "line of the data dictionary."
            )
        if name not in table.columns:
            raise InvalidParameterError(
                f"{self._table} has no column {name!r}. Its columns are "
                f"{', '.join(map(str, table.columns))}."
            )
        return name

    def _problems(self, names: Sequence[str], undeclared: Sequence[str]) -> list[str]:
        """Return the mismatches of table and declaration, one line per column."""
        words, lines = self.interface, []
        if self.dictionary is None:
            if undeclared:
                lines = [
                    f"The schema declares no type for {', '.join(undeclared)}, and one row could "
                    "change a type that is inferred from the cells. Declare the columns: a type in "
                    "the data dictionary is enough for numbers and for categories "
                    f"({words.template} writes a template)."
                ]
        else:
            types = {entry.name: entry.type for entry in self.dictionary.entries}
            lines = [
                f"  {name}: {words.table} has no such column; remove its line, or give it the "
                "role 'ignore'"
                for name in self.dictionary.features
                if name not in names
            ]
            for name in undeclared:
                what = "is text" if types[name] == "text" or not words.all_text else "has no type"
                cures = "its type 'category' (without values they are estimated privately), or its "
                lines.append(f"  {name}: {what}; make {cures}role 'ignore' or 'user'")
            if lines:
                head = f"The data dictionary and {words.table} do not match:"
                lines = [head, *lines]
        if undeclared:
            lines.append(
                f"Or {words.assume}: the guarantee is then limited to tables whose cells give the "
                "same column types."
            )
        return lines


def frame_of(X: Any) -> Any:
    """Return a DataFrame of pandas, pyarrow or polars in that of pandas; None for other tables."""
    if not is_frame(X) and not hasattr(X, "__arrow_c_stream__"):
        return None
    found = unpack(X)
    return found if is_frame(found) else None


class DeclaredColumns:
    """Mixin for models that know their columns from a data dictionary."""

    # That of the fit, where the schema was a data dictionary.
    _declaration: Declaration | None = None

    def _features(self, X: Any) -> Any:
        """Return the features of a table, as the dictionary of the fit declares them."""
        if self._declaration is None:
            return X
        table = frame_of(X)
        return X if table is None else self._declaration.features(table)

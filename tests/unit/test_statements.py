"""The draw of statements is reproducible, and holds no code."""

from tests.statements import draw, statements, statements_of

PAGE = """# Page 1 of 7
A fit takes 5 seconds. It costs `3` units. In 2024, table 2 had
44 rows ([see](page-9.md)).

```python
six = 6  # It is 7.
```
| Adult | 9 |

* Python 3.12, epsilon 1 and $2 g$.
* Three trees.
"""


def test_code_and_tables_are_left_out():
    found = [(each.line, each.text) for each in statements_of(PAGE, "page.md")]
    long = "In 2024, table 2 had 44 rows ([see](page-9.md))."
    assert found == [(2, "A fit takes 5 seconds."), (2, long), (11, "Three trees.")]


def test_a_seed_draws_the_same_statements():
    found = statements()
    assert len({each.page for each in found}) > 30
    assert draw(found, 40, 2026) == draw(list(found), 40, 2026) != draw(found, 40, 2027)
